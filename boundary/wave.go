package boundary

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// wave is the calls of one message that start at once. They are admitted in the
// order of the message, in one trip where the store takes batches. So which number
// a call gets, which of them takes the last unit of a budget, which of two equal
// ids is the duplicate, and the order of the run's report do not depend on which
// goroutine was faster.
//
// The wave goes off when every call of it has come, or has gone because it was
// refused before that.
type wave struct {
	ahead <-chan struct{} // closed when the wave before this one has been sent
	sent  chan struct{}   // closed when this one has

	mu      sync.Mutex
	missing int // calls that have neither come nor gone
	here    []*arrival
}

// arrival is a call that waits for its admission.
type arrival struct {
	c       *call
	ctx     context.Context
	refusal *refusal      // set when nothing was sent for it
	done    chan struct{} // closed when refusal, or the call's first answer, may be read
}

func newWave(ahead <-chan struct{}, calls int) *wave {
	return &wave{ahead: ahead, sent: make(chan struct{}), missing: calls}
}

// pass comes back when the first delivery of the call's admission was answered,
// or when the call may go on to deliver it itself.
func (w *wave) pass(ctx context.Context, c *call) *refusal {
	a := &arrival{c: c, ctx: ctx, done: make(chan struct{})}
	c.arrived = true
	w.settle(a)
	<-a.done
	return a.refusal
}

// leave says that the call will not come. It does nothing for one that has.
func (w *wave) leave(c *call) {
	if w != nil && !c.arrived {
		c.arrived = true
		w.settle(nil)
	}
}

func (w *wave) settle(a *arrival) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a != nil {
		w.here = append(w.here, a)
	}
	if w.missing--; w.missing == 0 {
		go w.send() // not on a goroutine that waits for its own answer, or that the host ends
	}
}

// send admits those who came.
func (w *wave) send() {
	defer close(w.sent)
	<-w.ahead
	slices.SortFunc(w.here, func(a, b *arrival) int { return cmp.Compare(a.c.position, b.c.position) })
	if len(w.here) > 1 && w.here[0].c.b.batches != nil {
		w.sendTogether()
		return
	}
	w.sendOneByOne()
}

// sendTogether delivers all admissions in one trip.
func (w *wave) sendTogether() {
	var asked []*arrival
	var messages []canonical.Admission
	for _, a := range w.here {
		if a.prepare() {
			asked, messages = append(asked, a), append(messages, a.c.admission())
		}
	}
	if len(asked) == 0 {
		return
	}
	b, before := asked[0].c.b, asked[0].c.b.now()
	answers := eachOne(messages, b.batches.AdmitBatch(asked[0].c.window, messages), canonical.AdmitAnswer{Err: errShortAnswer})
	for i, a := range asked {
		a.answer(before, answers[i])
	}
}

// eachOne is the answers of a batch, or none for each message where their number
// shows that they cannot be told apart.
func eachOne[M, A any](messages []M, answers []A, none A) []A {
	if len(answers) == len(messages) {
		return answers
	}
	return slices.Repeat([]A{none}, len(messages))
}

var errShortAnswer = errors.New("the store did not answer every message of a batch")

// sendOneByOne delivers one admission after the other. When the store does not
// answer, those that are left go on by themselves: then order is worth less than
// an early answer.
func (w *wave) sendOneByOne() {
	trouble := false
	for _, a := range w.here {
		if !a.prepare() {
			continue
		}
		if trouble {
			close(a.done)
			continue
		}
		before := a.c.b.now()
		admitted, err := a.c.b.store.Admit(a.c.window, a.c.admission())
		trouble = err != nil && !answered(err)
		a.answer(before, canonical.AdmitAnswer{Admitted: admitted, Err: err})
	}
}

// prepare makes the call ready for its admission, or refuses it.
func (a *arrival) prepare() bool {
	if err := a.ctx.Err(); err != nil { // the caller left while others of the wave were asked about
		a.refusal = &refusal{lifecycle.Cancelled, "check the context", err}
	} else {
		a.refusal = a.c.prepare(a.ctx)
	}
	if a.refusal != nil {
		close(a.done)
	}
	return a.refusal == nil
}

func (a *arrival) answer(before time.Time, answer canonical.AdmitAnswer) {
	a.c.first = &delivered{before: before, AdmitAnswer: answer}
	close(a.done)
}
