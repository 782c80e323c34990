package text_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/text"
)

// A tool that answers {"users":[…]}, and the host knows that it always looks
// through the whole table.
func Example() {
	users := text.New(text.Options{
		Items: "users",
		Coverage: func(in projector.Input) evidence.Coverage {
			return evidence.Searched(string(in.Request), "table users")
		},
	})
	for _, raw := range []string{
		`{"users": [{"id": 9007199254740993, "name": "Ana", "bio": "was born in a town by the sea, studied there, and stayed"}, {"id": 2}]}`,
		`{"users": []}`,
		`{"error": "connection refused"}`,
		`nobody found`,
	} {
		in := projector.Input{Tool: "users", Request: []byte(`{"name":"a"}`), Raw: []byte(raw), Limits: projector.Limits{AgentBytes: 100}}
		p, err := projector.Drive(context.Background(), users, in, projector.Options{})
		if err != nil {
			fmt.Println(errors.Unwrap(err)) // for the host
			continue
		}
		fmt.Printf("%s %s\n", p.Status, p.Result)
	}
	// Output:
	// EVIDENCE_FOUND {"users":[{"id":9007199254740993,"name":"Ana","bio":"was born in a town …[56 bytes]"},{"id":2}]}
	// NO_EVIDENCE {"nothing_found":"searched table users for {\"name\":\"a\"}","result":{"users":[]}}
	// text: result: the tool's own error object; that is no absence
	// text: result: text, where the options name members of an object
}
