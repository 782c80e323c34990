package lifecycle_test

import (
	"fmt"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

func ExampleState_Transition() {
	state := lifecycle.Projecting
	state, err := state.Transition(lifecycle.Succeed(evidence.None))
	fmt.Println(state, err)
	_, err = state.Transition(lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Unknown))
	fmt.Println(err)
	// Output:
	// READY <nil>
	// lifecycle: no transition from READY to ERROR
}

func ExampleCode_Info() {
	info, _ := lifecycle.OutcomeUnknown.Info()
	fmt.Println(info.Message)
	fmt.Println("must act:", info.Actor, "- new call helps:", info.NewCallHelps, "- has a record:", info.HasRecord())
	// Output:
	// The tool may or may not have taken effect. Do not repeat the call.
	// must act: host - new call helps: false - has a record: true
}

// A host registers the codes in which its tools may fail, with the text that the
// model is to read.
func ExampleNewRegistry() {
	codes, err := lifecycle.NewRegistry(map[lifecycle.Code]string{"ACCOUNT_LOCKED": "The account is locked. Ask the user."})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(codes.Message("ACCOUNT_LOCKED"))
	_, err = lifecycle.NewRegistry(map[lifecycle.Code]string{lifecycle.ToolTimeout: "Too slow."})
	fmt.Println(err)
	// Output:
	// The account is locked. Ask the user.
	// lifecycle: registered codes: [TOOL_TIMEOUT is built in]
}
