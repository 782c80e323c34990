package runprogress_test

import (
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// On servers, where a record can be altered behind the store's back.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for _, on := range []backend{{"embedded", embeddedDeck}, {"redis", redisDeck}} {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			t.Run("T74_unreadable_hides_no_other", func(t *testing.T) { unreadable(t, on.start(t)) })
		})
	}
}

func unreadable(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.answered("first", "query", rows("first", "1"))
	b.admit("garbled", "query")
	b.end("garbled", canonical.Ending{Verdict: lifecycle.Succeed(evidence.Found), Raw: canonical.NewRaw(nil),
		Agent: canonical.Body("x"), Facts: canonical.Body(`[{"subject":`)})
	b.answered("newer", "query", rows("newer", "1"))
	b.answered("foreign", "query", rows("foreign", "1"))
	b.answered("last", "query", rows("last", "1"))
	d.newer(t, b.identity("newer"))
	d.foreign(t, b.identity("foreign"))
	b.close()
	for name, r := range map[string]runprogress.Report{"tracker": b.report(), "order": b.elsewhere()} {
		if got, want := factIDs(r), "1:query:first 5:query:last "; got != want {
			t.Errorf("%s: facts of %q, want %q", name, got, want)
		}
		if got, want := excluded(r), "2:garbled:corrupt 3:newer:newer_version 4:foreign:corrupt "; got != want {
			t.Errorf("%s: excluded %q, want %q", name, got, want)
		}
		if r.Complete {
			t.Errorf("%s: complete, though a record could not be read and may be open", name)
		}
	}
}
