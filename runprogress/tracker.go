package runprogress

import (
	"cmp"
	"slices"
	"sync"

	"github.com/toolharness/harness/canonical"
)

// Tracker holds the names of one run's ended calls with their place in the
// order of admission, and nothing else. The zero Tracker is empty and ready. It
// is safe for concurrent use and must not be copied.
type Tracker struct {
	mu   sync.Mutex
	seqs map[canonical.CallName]int64
}

// Completed notes that call has ended, READY or not; seq is the sequence that
// its admission was given. Noting a call again changes nothing. Should two
// sequences be given for one name the lower one stays, so that the order of the
// notes does not matter; the record then tells which was right.
func (t *Tracker) Completed(call canonical.CallName, seq int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seqs == nil {
		t.seqs = make(map[canonical.CallName]int64)
	}
	if first, known := t.seqs[call]; !known || seq < first {
		t.seqs[call] = seq
	}
}

// Calls returns what was noted, in order of admission, as a fresh slice.
func (t *Tracker) Calls() []canonical.Numbered {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := make([]canonical.Numbered, 0, len(t.seqs))
	for call, seq := range t.seqs {
		calls = append(calls, canonical.Numbered{Seq: seq, Call: call})
	}
	slices.SortFunc(calls, byOrder)
	return calls
}

// byOrder sorts by sequence. The name decides between equal sequences, which no
// store gives, so that even nonsense has one order.
func byOrder(a, b canonical.Numbered) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Call.String(), b.Call.String()))
}
