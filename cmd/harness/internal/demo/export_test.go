package demo

import (
	"context"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/executors/docsearch"
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

func (o Options) ExpectingLogs(text string) Options {
	o.logsExpected = text
	return o
}

func (o Options) ExpectingArticles(text string) Options {
	o.articlesExpected = text
	return o
}

// Asking changes the calls of each message on their way to the boundary.
func (o Options) Asking(f func([]boundary.Call) []boundary.Call) Options {
	o.asked = f
	return o
}

// Answering changes the answers to each message on their way back.
func (o Options) Answering(f func([]boundary.Result) []boundary.Result) Options {
	o.answers = f
	return o
}

// With takes an index that is built already.
func (o Options) With(articles *docsearch.Index) Options {
	o.articles = articles
	return o
}

// BuildArticles is the index that a demo builds for itself.
var BuildArticles = buildArticles

// Waiting is for how long tools wait for those of the same message.
func (o Options) Waiting(d time.Duration) Options {
	o.patience = d
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
