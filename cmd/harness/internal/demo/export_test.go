package demo

import (
	"context"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/place"
)

// What follows breaks one promise each, so that tests see it told.

func (o Options) ExpectingConversations(text string) Options {
	o.conversationsExpected = text
	return o
}

func (o Options) ExpectingDatabase(text string) Options {
	o.chinookExpected = text
	return o
}

func (o Options) WithExecutor(wrap func(boundary.Executor) boundary.Executor) Options {
	o.executor = wrap
	return o
}

func (o Options) BeforeChecks(f func(context.Context, []canonical.RunKey)) Options {
	o.beforeChecks = f
	return o
}

func (o Options) AfterRemoval(f func(context.Context, []canonical.RunKey)) Options {
	o.afterRemoval = f
	return o
}

// PrefixOf and RecordOf let tests name keys.
var (
	PrefixOf = place.PrefixOf
	RecordOf = place.RecordOf
)
