package demo

import (
	"context"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/executors/docsearch"
)

// Options say where the demo keeps its records and what it leaves behind. The zero value is the embedded store and nothing.
type Options struct {
	// Redis is the address of one server: redis://, rediss:// or unix://. Empty: the embedded store.
	Redis string
	// Data is the directory of a local store, in which the records stay until they expire.
	Data string
	// Keep leaves the records in Redis until they expire. It needs an address, since the embedded store ends with the demo.
	Keep bool
	// Entries names a file to which each entry into a tool appends a line: run, tool_call_id and tool, between tabs; the id
	// behind its turn and a colon where it has a turn. It is made if missing and never cut. Empty: none.
	Entries string

	// What tests replace, to see that a broken promise is told.
	conversationsExpected string
	chinookExpected       string
	logsExpected          string
	articlesExpected      string
	asked                 func([]boundary.Call) []boundary.Call
	answers               func([]boundary.Result) []boundary.Result
	articles              *docsearch.Index // somebody else's, already built; nil: build one
	patience              time.Duration
	executor              func(boundary.Executor) boundary.Executor
	beforeChecks          func(context.Context, []canonical.RunKey)
	afterRemoval          func(context.Context, []canonical.RunKey)
}

func (o Options) withDefaults() Options {
	o.Keep = o.Keep || o.Data != ""
	if o.conversationsExpected == "" {
		o.conversationsExpected = data.ConversationsExpected()
	}
	if o.chinookExpected == "" {
		o.chinookExpected = data.ChinookExpected()
	}
	if o.logsExpected == "" {
		o.logsExpected = data.KafkaExpected()
	}
	if o.articlesExpected == "" {
		o.articlesExpected = data.BankExpected()
	}
	if o.asked == nil {
		o.asked = func(calls []boundary.Call) []boundary.Call { return calls }
	}
	if o.answers == nil {
		o.answers = func(results []boundary.Result) []boundary.Result { return results }
	}
	if o.patience == 0 {
		o.patience = 10 * time.Second
	}
	if o.executor == nil {
		o.executor = func(x boundary.Executor) boundary.Executor { return x }
	}
	nothing := func(context.Context, []canonical.RunKey) {}
	if o.beforeChecks == nil {
		o.beforeChecks = nothing
	}
	if o.afterRemoval == nil {
		o.afterRemoval = nothing
	}
	return o
}

func (o Options) check() error {
	switch {
	case o.Redis != "" && o.Data != "":
		return &OptionError{Reason: "a Redis and a directory are named, records are in one of them"}
	case o.Keep && o.Redis == "" && o.Data == "":
		return &OptionError{Reason: "records can be kept only in a Redis or a directory that is named"}
	}
	return nil
}

// OptionError says why the demo cannot start with these options. It repeats no part of an address, which may hold a
// password.
type OptionError struct{ Reason string }

// Error gives the reason.
func (e *OptionError) Error() string { return "demo: " + e.Reason }
