package canonical_test

import (
	"errors"
	"fmt"

	"github.com/toolharness/harness/canonical"
)

// An id is used as it came or not at all.
func ExampleParseToolCallID() {
	id, err := canonical.ParseToolCallID("call_x|fc_y")
	fmt.Println(id, err)
	_, err = canonical.ParseToolCallID("call_abc ")
	fmt.Println(err)
	// Output:
	// call_x|fc_y <nil>
	// canonical: tool_call_id: has a byte that is not allowed at byte 8
}

// Where a provider uses an id twice in one run, the turn tells the calls apart.
func ExampleCallName() {
	first := canonical.CallName{Turn: "1", ID: "call_0"}
	second := canonical.CallName{Turn: "9", ID: "call_0"}
	fmt.Println(first, second, first == second)
	// Output: 1:call_0 9:call_0 false
}

// A request keeps its bytes. Two spellings of one name are one name.
func ExampleParseRequest() {
	r, err := canonical.ParseRequest([]byte(`{"id": 9007199254740993}`), 64<<10)
	fmt.Println(string(r.Bytes()), err)
	_, err = canonical.ParseRequest([]byte(`{"a":1,"\u0061":2}`), 64<<10)
	fmt.Println(err)
	// Output:
	// {"id": 9007199254740993} <nil>
	// canonical: request: has a member name twice in one object at byte 7
}

// Everything that is wrong with a configuration is said at once.
func ExampleLimits_WithDefaults() {
	_, err := canonical.Limits{RawBytes: 8 << 20, RecordTTL: 1}.WithDefaults()
	if bad, ok := errors.AsType[*canonical.LimitsError](err); ok {
		for _, problem := range bad.Problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// RecordTTL is 1ns, at least 1ms is needed
	// RecordTTL is 1ns, a call alone may take 40s
	// RecordBytes is 5242880, the other limits need 8486912
}

// A body prints as its size, so no struct of records spills one into a log.
func ExampleBody() {
	record := canonical.Record{Request: canonical.Body(`{"password":"x"}`), Raw: canonical.NewRaw([]byte("secret rows"))}
	fmt.Println(record.Request)
	fmt.Printf("%+v\n", record.Raw.Bytes)
	// Output:
	// 16 bytes
	// 11 bytes
}
