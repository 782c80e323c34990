package findings_test

import (
	"fmt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/findings/wire"
	"github.com/toolharness/harness/lifecycle"
)

// The model was served one result and cites two. The call is refused, with a text
// that says nothing about either.
func Example() {
	sent := []byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"5 items"}]}]}`)
	reading, err := wire.Read(wire.Anthropic, sent)
	if err != nil {
		panic(err)
	}
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "acme"}, Run: "r1"}
	call := canonical.Identity{RunKey: run, Call: canonical.CallName{ID: "toolu_1"}}
	w, err := findings.NewWitness(findings.Capture{
		Run: run, Served: reading.Served, Incomplete: reading.Stored,
		Marks:   []findings.Mark{findings.MarkExecuted(call, "5 items")},
		Records: []findings.Record{{Call: call, State: lifecycle.Ready, Status: evidence.Found}},
	})
	if err != nil {
		panic(err)
	}
	request, err := canonical.ParseRequest([]byte(`{"item":"bolt","_findings":{"previous":[
		{"toolCallId":"toolu_1","standing":"fact"},{"toolCallId":"toolu_9","standing":"fact"}]}}`), 1<<16)
	if err != nil {
		panic(err)
	}
	parts, err := findings.Split(request)
	if err != nil {
		panic(err)
	}
	a := findings.Admit(w, parts.Declaration)
	for _, v := range a.Verdicts {
		fmt.Printf("%s backs %q, refused %q\n", v.ID, v.Backing, v.Refused)
	}
	info, _ := findings.Code.Info()
	fmt.Println(a.Refused(), info.Message)
	fmt.Printf("%s\n", []byte(parts.Arguments.Bytes()))
	// Output:
	// toolu_1 backs "fact", refused ""
	// toolu_9 backs "", refused "NOT_SERVED"
	// true The call cites a result that was not served in this conversation. It was not run. Cite only ids that you were given.
	// {"item":"bolt"}
}
