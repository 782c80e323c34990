package logsearch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/lines"
)

// Search searches the sources of one log. It keeps no state between searches and
// is safe for concurrent use.
type Search struct {
	sources []Source
	limits  Limits
}

// New checks the configuration and reports all that is wrong with it at once.
func New(c Config) (*Search, error) {
	limits := c.Limits.withDefaults()
	if err := c.check(limits); err != nil {
		return nil, err
	}
	return &Search{sources: append([]Source(nil), c.Sources...), limits: limits}, nil
}

// Errors of [Search.Run] beside a [*QueryError], the context's and the writer's.
// Each means that there is no result.
var (
	// ErrStaleCursor: the source is not what it was when the cursor was made.
	ErrStaleCursor = errors.New("logsearch: the log changed since the cursor was made")
	// ErrSourceFailed: nothing was found where the search could look, and it could
	// not look everywhere. The cause is joined to it.
	ErrSourceFailed = errors.New("logsearch: part of the log could not be searched and nothing was found in the rest")
	// ErrScanLimit: MaxScanBytes were read and nothing was found so far.
	ErrScanLimit = errors.New("logsearch: the limit of bytes was read and nothing was found so far")
)

// Run runs one search and writes its result as a document of package lines. On
// an error what was written is to be dropped.
func (s *Search) Run(ctx context.Context, q Query, w io.Writer) error {
	p, err := s.resolve(q)
	if err != nil {
		return err
	}
	document := lines.Encoder{
		Sources: sourceNames(p.sources[p.start.source:]), From: p.from, To: p.to, Query: p.describe(), Limit: p.limit,
		Unreached: p.unreached(), MaxBytes: s.limits.MaxBytes,
	}
	out, err := document.Begin(w)
	if err != nil {
		return err
	}
	sc := &scan{Search: s, plan: p, out: out}
	if err := sc.run(ctx); err != nil {
		return err
	}
	if sc.returned == 0 && (len(sc.failed) > 0 || sc.stopped) {
		return sc.nothing()
	}
	return out.Close(sc.end())
}

// unreached says what a search that goes on from a cursor does not look at.
func (p plan) unreached() []evidence.Gap {
	if !p.resumed {
		return nil
	}
	what := fmt.Sprintf("what stands before byte %d of %s", p.start.offset, p.sources[p.start.source].Name)
	return []evidence.Gap{{What: what, Reason: "the cursor goes on from there"}}
}
