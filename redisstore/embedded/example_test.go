package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/redisstore/embedded"
)

// A run outlives its deadline, so that its records can be read, and is gone a
// day later. Nothing waits for it.
func Example() {
	server, err := embedded.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	limits, err := canonical.Limits{}.WithDefaults()
	if err != nil {
		fmt.Println(err)
		return
	}
	budget, err := canonical.Budget{}.WithDefaults(limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "acme"}, Run: "run-1"}
	_, err = server.Store().OpenRun(context.Background(), canonical.Opening{
		Run: run, Token: "a-secret", Duration: time.Hour, Limits: limits, Budget: budget,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		server.Advance(13 * time.Hour)
		state, err := server.Store().Inspect(context.Background(), run)
		fmt.Println(state.Phase, state.Left < 0, errors.Is(err, canonical.ErrRunMissing))
	}
	// Output:
	// open true false
	//  false true
}
