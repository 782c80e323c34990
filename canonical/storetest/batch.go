package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func batchSubtests() []subtest {
	return []subtest{
		{"K45_admissions_are_answered_in_their_order", needsBatches, admissionsInOrder},
		{"K45_endings_are_answered_in_their_order", needsBatches, endingsInOrder},
		{"K45_endings_of_every_size_keep_their_bytes", needsBatches, endingsOfEverySize},
		{"K45_a_batch_without_messages", needsBatches, emptyBatches},
		{"K45_K46_a_batch_sent_twice", needsBatches, batchesTwice},
		{"K46_admissions_are_judged_alone", needsBatches, admissionsAlone},
		{"K46_endings_are_judged_alone", needsBatches, endingsAlone},
		{"K46_messages_of_several_runs", needsBatches, batchOfRuns},
		{"K46_a_context_that_has_ended", needsBatches, batchWithoutTime},
	}
}

// batches is the side of the store that these subtests are about.
func (p *probe) batches() canonical.Batcher { return p.s.(canonical.Batcher) }

// admitAll sends admissions in one batch; there must be an answer for each.
func (p *probe) admitAll(messages ...canonical.Admission) []canonical.AdmitAnswer {
	p.T.Helper()
	answers := p.batches().AdmitBatch(p.ctx, messages)
	if len(answers) != len(messages) {
		p.Fatalf("AdmitBatch gave %d answers to %d messages", len(answers), len(messages))
	}
	return answers
}

// endAll sends endings in one batch; there must be an answer for each.
func (p *probe) endAll(messages ...canonical.Ending) []canonical.EndAnswer {
	p.T.Helper()
	answers := p.batches().CompleteBatch(p.ctx, messages)
	if len(answers) != len(messages) {
		p.Fatalf("CompleteBatch gave %d answers to %d messages", len(answers), len(messages))
	}
	return answers
}

// created checks an answer that must have made a record.
func (p *probe) created(a canonical.AdmitAnswer, seq int64, evidence canonical.EvidenceID) {
	p.T.Helper()
	if a.Err != nil || a.Admitted.Own || a.Admitted.State != lifecycle.Projecting || a.Admitted.Seq != seq || a.Admitted.EvidenceID != evidence {
		p.Errorf("admission = %+v, %v; want a new record number %d with %s", a.Admitted, a.Err, seq, evidence)
	}
}

// bad takes away what makes an admission well formed.
func bad(a canonical.Admission) canonical.Admission { a.Claim = ""; return a }

func malformed(err error) bool {
	var (
		no      *canonical.RefusedError
		name    *canonical.NameError
		wrong   *canonical.ArgumentError
		verdict *lifecycle.CompletionError
	)
	return !errors.As(err, &no) && (errors.As(err, &name) || errors.As(err, &wrong) || errors.As(err, &verdict))
}

func admissionsInOrder(p *probe) {
	p.open(budget(3, canonical.Unlimited, canonical.Unlimited))
	first := p.admission("a")
	got := p.admitAll(first, p.admission("b"), p.admission("a", claimed("another")), first, p.admission("c"), p.admission("d"))
	p.created(got[0], 1, first.EvidenceID)
	p.created(got[1], 2, p.admission("b").EvidenceID)
	p.stands("the same name under another claim", got[2].Err, canonical.ErrDuplicate, lifecycle.Projecting)
	if again := got[3]; again.Err != nil || !again.Admitted.Own || again.Admitted.Seq != 1 {
		p.Errorf("our own claim again = %+v, %v; want number 1, own", again.Admitted, again.Err)
	}
	p.created(got[4], 3, p.admission("c").EvidenceID)
	p.refused("the admission behind the last unit", got[5].Err, canonical.ErrRunBudget)
	order, err := p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order", err)
	p.same("the order", order, []canonical.Numbered{{Seq: 1, Call: named("a")}, {Seq: 2, Call: named("b")}, {Seq: 3, Call: named("c")}})
}

func endingsInOrder(p *probe) {
	p.open()
	a, b, c := p.admit("a"), p.admit("b"), p.admit("c")
	got := p.endAll(b.ready(), c.toolFailed(), b.ready(), b.toolFailed(), a.ready())
	for i, want := range []struct{ err, repeat bool }{{}, {}, {repeat: true}, {err: true}, {}} {
		if (got[i].Err != nil) != want.err || got[i].Ended.Repeat != want.repeat {
			p.Errorf("ending %d = %+v, %v; want refused %t, repeat %t", i, got[i].Ended, got[i].Err, want.err, want.repeat)
		}
	}
	p.stands("another outcome of b", got[3].Err, canonical.ErrConflict, lifecycle.Ready)
	p.inState(a.Call, lifecycle.Ready)
	p.inState(b.Call, lifecycle.Ready)
	p.inState(c.Call, lifecycle.Error)
}

// inState checks what a record came to.
func (p *probe) inState(name canonical.CallName, want lifecycle.State) {
	p.T.Helper()
	heads, err := p.s.Heads(p.ctx, runKey(), []canonical.CallName{name})
	p.must("Heads", err)
	if heads[0].State != want {
		p.Errorf("%s is %q, want %s", name, heads[0].State, want)
	}
}

// endingsOfEverySize: bodies that travel with the message, beside it, and in
// several parts, all in one batch.
func endingsOfEverySize(p *probe) {
	p.open()
	sizes := []int{1, 3 << 10, 300 << 10, 1<<20 + 7, 0, 64}
	var calls []call
	var messages []canonical.Ending
	for i, size := range sizes {
		c := p.admit(canonical.ToolCallID("call-" + string(rune('a'+i))))
		e := c.ready()
		e.Raw, e.Agent = canonical.NewRaw(filled(size, byte(i))), canonical.Body(filled(min(size, 12<<10), 'x'))
		calls, messages = append(calls, c), append(messages, e)
	}
	for i, got := range p.endAll(messages...) {
		p.must("ending "+calls[i].Call.String(), got.Err)
		record, err := p.s.Record(p.ctx, runKey(), calls[i].Call)
		p.must("Record", err)
		if string(record.Raw.Bytes) != string(messages[i].Raw.Bytes) || string(record.Agent) != string(messages[i].Agent) {
			p.Errorf("%s: %d bytes raw and %d of the agent result came back, other than the %d and %d that were sent", calls[i].Call,
				len(record.Raw.Bytes), len(record.Agent), len(messages[i].Raw.Bytes), len(messages[i].Agent))
		}
		if record.Head.Raw.Pieces != got.Ended.Pieces {
			p.Errorf("%s: the answer says pieces %q, the record %q", calls[i].Call, got.Ended.Pieces, record.Head.Raw.Pieces)
		}
	}
}

// filled is size bytes that differ from place to place.
func filled(size int, seed byte) []byte {
	out := make([]byte, size)
	for i := range out {
		out[i] = 'a' + (seed+byte(i%251))%26
	}
	return out
}

func emptyBatches(p *probe) {
	p.open()
	p.admitAll()
	p.endAll()
	order, err := p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order", err)
	p.same("the order", len(order), 0)
}

// batchesTwice: a client that lost the answers sends all of it again.
func batchesTwice(p *probe) {
	p.open(budget(2, canonical.Unlimited, canonical.Unlimited))
	messages := []canonical.Admission{p.admission("a"), p.admission("b")}
	first, again := p.admitAll(messages...), p.admitAll(messages...)
	var ends []canonical.Ending
	for i := range messages {
		if again[i].Err != nil || !again[i].Admitted.Own || again[i].Admitted.Seq != first[i].Admitted.Seq {
			p.Errorf("admission %d again = %+v, %v; want number %d, own", i, again[i].Admitted, again[i].Err, first[i].Admitted.Seq)
		}
		ends = append(ends, call{messages[i], first[i].Admitted}.ready())
	}
	p.endAll(ends...)
	for i, got := range p.endAll(ends...) {
		if got.Err != nil || !got.Ended.Repeat {
			p.Errorf("ending %d again = %+v, %v; want success, a repeat", i, got.Ended, got.Err)
		}
	}
}

func admissionsAlone(p *probe) {
	p.open()
	late := p.admission("late", func(a *canonical.Admission) { a.NotAfter = p.h.Now().Add(-time.Hour) })
	nowhere := p.admission("nowhere", func(a *canonical.Admission) { a.Run = runNamed("run-2") })
	got := p.admitAll(bad(p.admission("x")), p.admission("a"), nowhere, late, p.admission("b"), bad(p.admission("y")))
	for _, i := range []int{0, 5} {
		if !malformed(got[i].Err) {
			p.Errorf("a message without a claim = %v, want an error about the argument", got[i].Err)
		}
	}
	p.created(got[1], 1, p.admission("a").EvidenceID)
	p.refused("an admission to no run", got[2].Err, canonical.ErrRunMissing)
	p.refused("a late admission", got[3].Err, canonical.ErrTooLate)
	p.created(got[4], 2, p.admission("b").EvidenceID)
}

func endingsAlone(p *probe) {
	p.open()
	a, b := p.admit("a"), p.admit("b")
	ghost := call{Admission: p.admission("ghost"), got: a.got}
	senseless, stranger := a.ready(), a.ready()
	senseless.Verdict = lifecycle.Completion{}
	stranger.Claim = "claim-of-another"
	stranger.Raw = canonical.NewRaw(filled(5<<10, 1))
	got := p.endAll(senseless, ghost.ready(), stranger, a.ready(), b.toolFailed())
	if !malformed(got[0].Err) {
		p.Errorf("an ending without a verdict = %v, want an error about it", got[0].Err)
	}
	p.refused("an ending of no record", got[1].Err, canonical.ErrMissing)
	p.refused("an ending under another claim", got[2].Err, canonical.ErrConflict)
	p.must("the ending of a", got[3].Err)
	p.must("the ending of b", got[4].Err)
	record, err := p.s.Record(p.ctx, runKey(), a.Call)
	p.must("Record", err)
	p.same("the raw result of a", string(record.Raw.Bytes), string(a.ready().Raw.Bytes))
}

// batchOfRuns: nothing says that all messages concern one run.
func batchOfRuns(p *probe) {
	runs := []canonical.RunKey{runKey(), runNamed("run-2"), runNamed("run-3")}
	var messages []canonical.Admission
	for _, run := range runs {
		_, err := p.s.OpenRun(p.ctx, opening(func(o *canonical.Opening) { o.Run = run }))
		p.must("OpenRun", err)
		messages = append(messages, p.admission("a", func(a *canonical.Admission) { a.Run = run }))
	}
	var ends []canonical.Ending
	for i, got := range p.admitAll(messages...) {
		p.created(got, 1, messages[i].EvidenceID)
		e := call{messages[i], got.Admitted}.ready()
		e.Raw = canonical.NewRaw(filled((i+1)<<12, byte(i)))
		ends = append(ends, e)
	}
	for i, got := range p.endAll(ends...) {
		p.must("the ending in "+string(runs[i].Run), got.Err)
		record, err := p.s.Record(p.ctx, runs[i], named("a"))
		p.must("Record", err)
		p.same("the size of raw in "+string(runs[i].Run), len(record.Raw.Bytes), (i+1)<<12)
	}
}

// batchWithoutTime: what was not sent is trouble, for each message alone, never a
// "no" and never success.
func batchWithoutTime(p *probe) {
	p.open()
	a := p.admit("a")
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	for _, got := range p.batches().AdmitBatch(ctx, []canonical.Admission{p.admission("b"), p.admission("c")}) {
		if !trouble(got.Err) {
			p.Errorf("an admission on an ended context = %v, want trouble", got.Err)
		}
	}
	for _, got := range p.batches().CompleteBatch(ctx, []canonical.Ending{a.ready(), a.ready()}) {
		if !trouble(got.Err) {
			p.Errorf("an ending on an ended context = %v, want trouble", got.Err)
		}
	}
	p.inState(a.Call, lifecycle.Projecting)
}

// trouble reports whether err is neither success nor a "no".
func trouble(err error) bool {
	_, no := errors.AsType[*canonical.RefusedError](err)
	return err != nil && !no
}
