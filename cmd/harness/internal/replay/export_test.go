package replay

import (
	"context"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// What follows breaks one promise each, so that tests see it told.

func (o Options) WithExecutor(wrap func(boundary.Executor) boundary.Executor) Options {
	o.executor = wrap
	return o
}

func (o Options) BeforeReading(f func(context.Context, canonical.RunKey)) Options {
	o.beforeReading = f
	return o
}

// Failed are the codes of calls that were admitted and are not ready.
func (c Counts) Failed() map[boundary.Code]int { return c.failed }
