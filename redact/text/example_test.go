package text_test

import (
	"context"
	"fmt"

	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/redact/text"
)

// A host with a name of its own for a credential shows a result and a log line.
func Example() {
	keys := redact.Keys{Exact: []string{"pin"}}
	r, err := redact.New(redact.Config{Keys: keys, Rules: []redact.Finder{text.New(keys)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, value := range []string{
		`{"user": "ada", "pin": 1234, "balance": 10.50, "next_page_token": "a1"}`,
		`{"log": "GET /v1 Authorization: Bearer abcdefgh\nstatus=200"}`,
		`dial postgres://app:hunter2@db:5432/shop: refused`,
	} {
		view, err := r.Redact(context.Background(), redact.Result, []byte(value))
		if err != nil {
			fmt.Println(err) // withheld
			return
		}
		fmt.Printf("%s\n", view.Text)
	}
	// Output:
	// {"user": "ada", "pin": "[REDACTED]", "balance": 10.50, "next_page_token": "a1"}
	// {"log": "GET /v1 Authorization: [REDACTED]\nstatus=200"}
	// dial postgres://app:[REDACTED]@db:5432/shop: refused
}
