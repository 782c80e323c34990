package storetest

import (
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func runSubtests() []subtest {
	return []subtest{
		{"K01_open_makes_the_deadline", 0, openMakesTheDeadline},
		{"K02_P14_open_again_answers_the_stored_run", 0, openAgain},
		{"K02_P14_a_closed_run_stays_closed", 0, openAfterClose},
		{"K03_P14_other_parameters_or_token", 0, openOtherwise},
		{"K04_P18_too_long_a_run", 0, openTooLong},
		{"K05_join_and_inspect", 0, joinAndInspect},
		{"K06_P15_close_answers_what_is_left", 0, closeAnswers},
		{"K06_close_is_final_and_needs_the_token", 0, closeIsFinal},
		{"K08_a_message_that_has_seen_more", 0, seenMore},
		{"K08_P16_a_ledger_put_back", needsSnapshot, ledgerPutBack},
	}
}

func openMakesTheDeadline(p *probe) {
	before := p.h.Now()
	state := p.open()
	o := opening()
	p.near("deadline", state.Deadline, before.Add(runDuration))
	p.near("the store's now", state.Now, before)
	if d := (state.Left - runDuration).Abs(); d > p.h.Slack {
		p.Errorf("left = %v, want %v", state.Left, runDuration)
	}
	if last := state.Deadline.Add(recordTTL - p.h.Slack); state.Expires.Before(last) {
		p.Errorf("the run expires %v, want it to outlive a record of its last moment: %v", state.Expires, last)
	}
	if state.Phase != canonical.RunOpen || state.LastSeq != 0 || state.Reserved != 0 {
		p.Errorf("a new run is %s with sequence %d and %d bytes; want open, 0, 0", state.Phase, state.LastSeq, state.Reserved)
	}
	p.same("run", state.Run, o.Run)
	p.same("principal", state.Principal, o.Principal)
	p.same("budget", state.Budget, o.Budget)
	p.same("limits", state.Limits, o.Limits)
	p.same("continues", state.Continues, o.Continues)
}

func openAgain(p *probe) {
	first := p.open()
	p.admit("c1")
	for _, wait := range []time.Duration{time.Minute, runDuration} { // inside the run, and after its deadline
		p.h.Advance(wait)
		again := p.open()
		p.same("deadline", again.Deadline, first.Deadline)
		p.same("expiry", again.Expires, first.Expires)
		if again.Phase != canonical.RunOpen || again.LastSeq != 1 || again.Reserved != callReserve {
			p.Errorf("opened again: %s, sequence %d, %d bytes; want open, 1, %d", again.Phase, again.LastSeq, again.Reserved, callReserve)
		}
	}
}

func openAfterClose(p *probe) {
	p.open()
	p.close()
	if again := p.open(); again.Phase != canonical.RunClosed {
		p.Errorf("opened after close: %s, want closed", again.Phase)
	}
	p.refused("Admit", p.blocked("c1"), canonical.ErrRunClosed)
}

func openOtherwise(p *probe) {
	p.open()
	was := p.state()
	for name, change := range map[string]func(*canonical.Opening){
		"duration":  func(o *canonical.Opening) { o.Duration += time.Minute },
		"principal": func(o *canonical.Opening) { o.Principal.User = "bob" },
		"calls":     func(o *canonical.Opening) { o.Budget.Calls++ },
		"per tool":  func(o *canonical.Opening) { o.Budget.PerTool++ },
		"bytes":     func(o *canonical.Opening) { o.Budget.Bytes++ },
		"limits":    func(o *canonical.Opening) { o.Limits.AgentBytes-- },
		"timeout":   func(o *canonical.Opening) { o.Limits.ToolTimeout -= time.Minute },
		"continues": func(o *canonical.Opening) { o.Continues = nil },
	} {
		_, err := p.s.OpenRun(p.ctx, opening(change))
		p.refused("OpenRun with another "+name, err, canonical.ErrRunConflict)
	}
	_, err := p.s.OpenRun(p.ctx, opening(func(o *canonical.Opening) { o.Token = "another-token" }))
	p.refused("OpenRun with another token", err, canonical.ErrRunTaken)
	_, err = p.s.OpenRun(p.ctx, opening(func(o *canonical.Opening) { o.Token, o.Duration = "another-token", time.Hour }))
	p.refused("OpenRun with another token and duration", err, canonical.ErrRunTaken)
	p.unchanged(was)
}

// unchanged compares the run with an earlier look at it, clock aside.
func (p *probe) unchanged(was canonical.RunState) {
	p.T.Helper()
	is := p.state()
	is.Now, is.Left, was.Now, was.Left = time.Time{}, 0, time.Time{}, 0
	p.same("the run", is, was)
}

func openTooLong(p *probe) {
	most := opening().Limits.MaxDuration()
	_, err := p.s.OpenRun(p.ctx, opening(func(o *canonical.Opening) { o.Duration = most + time.Second }))
	p.refused("OpenRun", err, canonical.ErrRunTooLong)
	var no *canonical.RefusedError
	if errors.As(err, &no) && (no.Wanted != (most+time.Second).Milliseconds() || no.Limit != most.Milliseconds()) {
		p.Errorf("wanted %d, limit %d; want %d, %d", no.Wanted, no.Limit, (most + time.Second).Milliseconds(), most.Milliseconds())
	}
	_, err = p.s.Inspect(p.ctx, runKey())
	p.refused("Inspect after the refusal", err, canonical.ErrRunMissing)
	if p.h.Keys != nil && len(p.h.Keys(runKey())) > 0 {
		p.Errorf("the refusal left %v", p.h.Keys(runKey()))
	}
	p.open(func(o *canonical.Opening) { o.Duration = most })
}

func joinAndInspect(p *probe) {
	_, err := p.s.JoinRun(p.ctx, runKey(), theToken)
	p.refused("JoinRun without a run", err, canonical.ErrRunMissing)
	_, err = p.s.Inspect(p.ctx, runKey())
	p.refused("Inspect without a run", err, canonical.ErrRunMissing)
	p.open()
	p.admit("c1")
	was := p.state()
	joined, err := p.s.JoinRun(p.ctx, runKey(), theToken)
	p.must("JoinRun", err)
	_, err = p.s.JoinRun(p.ctx, runKey(), "another-token")
	p.refused("JoinRun with another token", err, canonical.ErrRunTaken)
	p.unchanged(was)
	joined.Now, joined.Left, was.Now, was.Left = time.Time{}, 0, time.Time{}, 0
	p.same("joined", joined, was)
	p.close()
	joined, err = p.s.JoinRun(p.ctx, runKey(), theToken)
	p.must("JoinRun of a closed run", err)
	if joined.Phase != canonical.RunClosed {
		p.Errorf("joined a run that is %s, want closed", joined.Phase)
	}
}

func closeAnswers(p *probe) {
	p.open()
	late := p.admit("write-late", writes)
	soon := p.admit("write-soon", writes, func(a *canonical.Admission) { a.Timeout = time.Minute })
	read := p.admit("read")
	done := p.admit("done")
	p.complete(done.ready())
	lost := p.admit("lost", writes)
	p.complete(lost.unknown())
	closed := p.close()
	if closed.LastSeq != 5 {
		p.Errorf("last sequence = %d, want 5", closed.LastSeq)
	}
	p.sameNames("open", closed.Open, soon.Call, read.Call, late.Call)
	p.sameNames("unresolved", closed.Unresolved, lost.Call, soon.Call, late.Call)
	p.refused("Admit after close", p.blocked("after"), canonical.ErrRunClosed)
	p.complete(read.ready())
	if got := p.head(read.Call); got.State != lifecycle.Ready {
		p.Errorf("a call in flight ended as %s, want READY", got.State)
	}
}

// sameNames compares names in order of due time; the last two of want may be in
// either order where their due times are equal.
func (p *probe) sameNames(what string, got []canonical.CallName, want ...canonical.CallName) {
	p.T.Helper()
	if len(got) == len(want) && len(got) > 1 {
		n := len(got)
		if got[n-1] == want[n-2] && got[n-2] == want[n-1] {
			want[n-1], want[n-2] = want[n-2], want[n-1]
		}
	}
	if len(got) == 0 && len(want) == 0 {
		return
	}
	p.same(what, got, want)
}

func closeIsFinal(p *probe) {
	_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: runKey(), Token: theToken})
	p.refused("CloseRun without a run", err, canonical.ErrRunMissing)
	p.open()
	c := p.admit("c1")
	_, err = p.s.CloseRun(p.ctx, canonical.Closing{Run: runKey(), Token: "another-token"})
	p.refused("CloseRun with another token", err, canonical.ErrRunTaken)
	if got := p.state().Phase; got != canonical.RunOpen {
		p.Errorf("after a refused close the run is %s, want open", got)
	}
	first := p.close()
	p.same("open calls", first.Open, []canonical.CallName{c.Call})
	p.complete(c.ready())
	again := p.close()
	if again.LastSeq != 1 || len(again.Open) != 0 || len(again.Unresolved) != 0 {
		p.Errorf("closed again = %+v, want sequence 1 and nothing left", again)
	}
	if got := p.state().Phase; got != canonical.RunClosed {
		p.Errorf("after close the run is %s, want closed", got)
	}
	p.refused("Admit", p.blocked("c2"), canonical.ErrRunClosed)
}

func seenMore(p *probe) {
	for _, way := range []string{"admit", "complete", "close"} {
		run := runNamed(canonical.RunID("run-" + way))
		in := func(a *canonical.Admission) { a.Run = run }
		p.open(func(o *canonical.Opening) { o.Run = run })
		c := p.admit("c1", in)
		p.seenMoreBy(way, c)
		_, err := p.s.Admit(p.ctx, p.admission("c3", in))
		if way == "close" && errors.Is(err, canonical.ErrRunClosed) {
			continue // both hold, and closed is told first
		}
		p.refused("Admit after a "+way+" that had seen more", err, canonical.ErrRunDamaged)
	}
}

// seenMoreBy sends a message that knows of an admission which the ledger lacks.
func (p *probe) seenMoreBy(way string, c call) {
	p.T.Helper()
	switch way {
	case "admit":
		a := p.admission("c2", func(a *canonical.Admission) { a.Run, a.Seen = c.Run, 7 })
		_, err := p.s.Admit(p.ctx, a)
		p.refused("Admit that has seen more", err, canonical.ErrRunDamaged)
	case "complete":
		e := c.ready()
		e.Seen = 7
		p.complete(e)
	case "close":
		_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: c.Run, Token: theToken, Seen: 7})
		p.must("CloseRun that has seen more", err)
	}
}

func ledgerPutBack(p *probe) {
	p.open()
	first := p.admit("c1")
	restore := p.h.SnapshotLedger(runKey())
	p.admit("c2")
	restore()
	for _, id := range []canonical.ToolCallID{"c3", "c4"} {
		_, err := p.s.Admit(p.ctx, p.admission(id, func(a *canonical.Admission) { a.Seen = 2 }))
		p.refused("Admit", err, canonical.ErrRunDamaged)
	}
	p.refused("Admit of a process that has seen nothing", p.blocked("c5"), canonical.ErrRunDamaged)
	if got := p.state().Phase; got != canonical.RunDamaged {
		p.Errorf("the run is %s, want damaged", got)
	}
	e := first.ready()
	e.Seen = 2
	p.complete(e)
	if got := p.record(first.Call); string(got.Agent) != string(e.Agent) {
		p.Errorf("agent result = %q, want %q", []byte(got.Agent), []byte(e.Agent))
	}
	_, err := p.s.CloseRun(p.ctx, canonical.Closing{Run: runKey(), Token: theToken, Seen: 2})
	p.must("CloseRun of a damaged run", err)
}
