package storetest

import (
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

func completeSubtests() []subtest {
	return []subtest{
		{"K30_save_keeps_raw_and_goes_on", 0, saveGoesOn},
		{"K30_a_saved_effect_is_known", 0, savedIsKnown},
		{"K30_save_needs_claim_and_record", 0, saveNeeds},
		{"K31_save_again", 0, saveAgain},
		{"K32_ready", 0, endsReady},
		{"K32_no_evidence", 0, endsAbsent},
		{"K32_error_with_everything", 0, endsError},
		{"K32_another_claim_changes_nothing", 0, endsForOthers},
		{"K33_P02_P33_complete_sent_again", 0, completeAgain},
		{"K34_P09_another_outcome", 0, otherOutcome},
		{"K34_a_saved_raw_is_not_replaced", 0, savedNotReplaced},
		{"K35_never_admitted", 0, endNeverAdmitted},
		{"K35_P11_expired_or_deleted", 0, endGone},
		{"K37_ending_leaves_the_open_ones", 0, endLeavesOpen},
		{"K39_verdicts_that_no_record_may_carry", 0, impossibleVerdicts},
	}
}

func saveGoesOn(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	p.save(c.saving("the raw result"))
	r := p.record(c.Call)
	if r.State != lifecycle.Projecting || r.Evidence != "" || r.Execution != "" || !r.Ended.IsZero() || r.Agent != nil {
		p.Errorf("after save: %s, evidence %q, execution %q, ended %v; want PROJECTING and nothing else", r.State, r.Evidence, r.Execution, r.Ended)
	}
	if string(r.Raw.Bytes) != "the raw result" || !r.Head.Raw.Stored || r.Head.Raw.Size != 14 || r.Head.Raw.SHA256 != canonical.Body("the raw result").SHA256() {
		p.Errorf("raw = %q, head %+v; want the saved bytes", []byte(r.Raw.Bytes), r.Head.Raw)
	}
	e := c.afterSave("the raw result")
	p.complete(e)
	r = p.record(c.Call)
	if r.State != lifecycle.Ready || string(r.Raw.Bytes) != "the raw result" || string(r.Agent) != string(e.Agent) {
		p.Errorf("after complete: %s, raw %q, agent %q; want READY with the saved raw", r.State, []byte(r.Raw.Bytes), []byte(r.Agent))
	}
}

func savedIsKnown(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	p.save(c.saving("raw"))
	if got := p.outstanding(); len(got.Effects) != 0 || len(got.Open) != 1 {
		p.Errorf("outstanding = %+v, want one open call and no effect", got)
	}
	p.h.Advance(dueTime + time.Minute)
	if err := p.blocked("c2"); err != nil {
		p.Errorf("Admit beside an overdue write whose raw was saved = %v, want success", err)
	}
}

func saveNeeds(p *probe) {
	p.open()
	c := p.admit("c1")
	foreign := c.saving("raw of somebody else")
	foreign.Claim = "another-claim"
	_, err := p.s.Save(p.ctx, foreign)
	p.stands("Save with another claim", err, canonical.ErrConflict, lifecycle.Projecting)
	if r := p.record(c.Call); r.Raw.Present() || r.Head.Raw != (canonical.RawInfo{}) {
		p.Errorf("a refused save left raw: %+v", r.Head.Raw)
	}
	absent := c.saving("raw")
	absent.Raw.Bytes = nil
	if _, err := p.s.Save(p.ctx, absent); err == nil || errors.As(err, new(*canonical.RefusedError)) {
		p.Errorf("Save without bytes = %v, want it refused before it is sent", err)
	}
	p.complete(c.toolFailed())
	_, err = p.s.Save(p.ctx, c.saving("raw"))
	p.stands("Save after the end", err, canonical.ErrConflict, lifecycle.Error)
}

func saveAgain(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	m := c.saving("accepted")
	p.save(m)
	before := p.record(c.Call)
	if got := p.save(m); !got.Repeat {
		p.Errorf("the same bytes again: repeat %v, want true", got.Repeat)
	}
	p.same("record", p.record(c.Call), before)
	other := c.saving("refused!")
	_, err := p.s.Save(p.ctx, other)
	p.stands("Save of other bytes", err, canonical.ErrConflict, lifecycle.Projecting)
	p.same("record", p.record(c.Call), before)
	p.complete(c.afterSave("accepted"))
	before = p.record(c.Call)
	p.h.Advance(time.Minute)
	p.save(m)
	_, err = p.s.Save(p.ctx, other)
	p.stands("Save of other bytes after the end", err, canonical.ErrConflict, lifecycle.Ready)
	p.same("record", p.record(c.Call), before)
}

func endsReady(p *probe) {
	p.open()
	c := p.admit("c1")
	p.h.Advance(time.Minute)
	now := p.h.Now()
	e := c.ready()
	if got := p.complete(e); got.Repeat || got.Strength == "" {
		p.Errorf("Complete = %+v, want a first time with a strength", got)
	}
	r := p.record(c.Call)
	p.near("ended", r.Ended, now)
	if r.State != lifecycle.Ready || r.Code != "" || r.Evidence != evidence.Found || r.Execution != lifecycle.Completed {
		p.Errorf("%s %q %s %s, want READY, no code, EVIDENCE_FOUND, completed", r.State, r.Code, r.Evidence, r.Execution)
	}
	p.sameBodies(c, e)
	if r.AgentSize != int64(len(e.Agent)) || r.AgentSHA256 != e.Agent.SHA256() {
		p.Errorf("agent result: %d bytes, %s; want %d, %s", r.AgentSize, r.AgentSHA256, len(e.Agent), e.Agent.SHA256())
	}
	ref, ok := r.Reference()
	want := evidence.Reference{Version: evidence.ReferenceVersion, EvidenceID: string(c.EvidenceID), RunID: "run-1", ToolCallID: "c1",
		SHA256: e.Raw.SHA256, Bytes: e.Raw.Size, Pieces: r.Head.Raw.Pieces, Strength: r.Strength}
	if !ok || ref != want {
		p.Errorf("reference = %+v, %v; want %+v", ref, ok, want)
	}
	if r.Identity != c.identity() || r.Seq != 1 || r.Tool != c.Tool || string(r.Request) != string(c.Request) || r.OperationKey != c.OperationKey {
		p.Errorf("the ending changed what admission stored: %+v", r.Head)
	}
}

func endsAbsent(p *probe) {
	p.open()
	c := p.admit("c1")
	e := c.ready()
	e.Verdict, e.Facts = lifecycle.Succeed(evidence.None), nil
	p.complete(e)
	r := p.record(c.Call)
	if r.State != lifecycle.Ready || r.Evidence != evidence.None || string(r.Coverage) != string(e.Coverage) || r.Facts != nil {
		p.Errorf("%s %s, coverage %q, facts %q; want READY NO_EVIDENCE with its coverage and without facts", r.State, r.Evidence, []byte(r.Coverage), []byte(r.Facts))
	}
}

func endsError(p *probe) {
	p.open()
	c := p.admit("c1")
	e := c.failed(lifecycle.ProjectionFailed, lifecycle.Completed)
	e.Stage, e.Raw = canonical.StageProject, canonical.NewRaw([]byte("what the tool said"))
	p.complete(e)
	r := p.record(c.Call)
	if r.State != lifecycle.Error || r.Code != lifecycle.ProjectionFailed || r.Evidence != evidence.Failed || r.Execution != lifecycle.Completed || r.Stage != canonical.StageProject {
		p.Errorf("%s %s %s %s at %s; want ERROR PROJECTION_FAILED ERROR completed at project", r.State, r.Code, r.Evidence, r.Execution, r.Stage)
	}
	if string(r.Raw.Bytes) != "what the tool said" || r.Agent != nil || r.AgentSHA256 != "" {
		p.Errorf("raw %q, agent %v; want the raw and no agent result", []byte(r.Raw.Bytes), r.Agent)
	}
	view, err := p.s.View(p.ctx, runKey(), c.Call)
	p.must("View", err)
	if view.Agent != nil {
		p.Errorf("the view of an ERROR has an agent result")
	}
	own := p.admit("c2")
	p.complete(own.failed("MY_OWN_CODE", lifecycle.Completed))
	if got := p.head(own.Call).Code; got != "MY_OWN_CODE" {
		p.Errorf("a registered code came back as %q", got)
	}
}

func endsForOthers(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	before, was := p.record(c.Call), p.state()
	for _, e := range []canonical.Ending{c.ready(), c.toolFailed()} {
		e.Claim = "another-claim"
		_, err := p.s.Complete(p.ctx, e)
		p.stands("Complete with another claim", err, canonical.ErrConflict, lifecycle.Projecting)
	}
	p.same("record", p.record(c.Call), before)
	p.unchanged(was)
	if got := p.outstanding(); len(got.Open) != 1 || len(got.Effects) != 1 {
		p.Errorf("outstanding = %+v, want the call still open", got)
	}
	p.complete(c.ready())
}

func completeAgain(p *probe) {
	p.open()
	good, bad, lost := p.admit("good"), p.admit("bad"), p.admit("lost", writes)
	for _, e := range []canonical.Ending{good.ready(), bad.toolFailed(), lost.unknown()} {
		if got := p.complete(e); got.Repeat {
			p.Errorf("%s: the first ending is called a repeat", e.Call)
		}
		before, was, out := p.record(e.Call), p.state(), p.outstanding()
		for _, wait := range []time.Duration{0, time.Minute} {
			p.h.Advance(wait)
			if got := p.complete(e); !got.Repeat {
				p.Errorf("%s: the same ending again: repeat %v, want true", e.Call, got.Repeat)
			}
		}
		p.same("record", p.record(e.Call), before)
		p.unchanged(was)
		out.Now = p.outstanding().Now
		p.same("outstanding", p.outstandingAt(out.Now), out)
	}
	order, err := p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order", err)
	if len(order) != 3 {
		p.Errorf("order has %d entries, want 3", len(order))
	}
}

// outstandingAt is outstanding with its clock set, for comparison.
func (p *probe) outstandingAt(now time.Time) canonical.Outstanding {
	p.T.Helper()
	o := p.outstanding()
	o.Now = now
	return o
}

func otherOutcome(p *probe) {
	p.open()
	good, bad := p.admit("good"), p.admit("bad")
	p.complete(good.ready())
	p.complete(bad.toolFailed())
	change := func(do func(*canonical.Ending)) canonical.Ending {
		e := good.ready()
		do(&e)
		return e
	}
	for what, e := range map[string]canonical.Ending{
		"ERROR":                 good.toolFailed(),
		"another raw":           change(func(e *canonical.Ending) { e.Raw = canonical.NewRaw([]byte("other")) }),
		"no raw":                change(func(e *canonical.Ending) { e.Raw = canonical.Raw{} }),
		"another agent result":  change(func(e *canonical.Ending) { e.Agent = canonical.Body("other") }),
		"other facts":           change(func(e *canonical.Ending) { e.Facts = nil }),
		"another coverage":      change(func(e *canonical.Ending) { e.Coverage = canonical.Body("{}") }),
		"another status":        change(func(e *canonical.Ending) { e.Verdict.Evidence = evidence.None }),
		"the claim of nobody":   change(func(e *canonical.Ending) { e.Claim = "another-claim" }),
		"a large raw of others": change(func(e *canonical.Ending) { e.Claim, e.Raw = "another-claim", canonical.NewRaw(make([]byte, 3<<19)) }),
		"a large raw":           change(func(e *canonical.Ending) { e.Raw = canonical.NewRaw(make([]byte, 3<<19)) }),
	} {
		before, was := p.record(good.Call), p.state()
		_, err := p.s.Complete(p.ctx, e)
		p.stands("READY, then "+what, err, canonical.ErrConflict, lifecycle.Ready)
		p.same("record", p.record(good.Call), before)
		p.unchanged(was)
	}
	for what, e := range map[string]canonical.Ending{"READY": bad.ready(), "another code": bad.failed(lifecycle.ResultTooLarge, lifecycle.Completed)} {
		before := p.record(bad.Call)
		_, err := p.s.Complete(p.ctx, e)
		p.stands("ERROR, then "+what, err, canonical.ErrConflict, lifecycle.Error)
		p.same("record", p.record(bad.Call), before)
	}
}

func savedNotReplaced(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	p.save(c.saving("accepted"))
	before := p.record(c.Call)
	e := c.ready()
	e.Raw = canonical.NewRaw([]byte("something else"))
	_, err := p.s.Complete(p.ctx, e)
	p.stands("Complete with a raw other than the saved one", err, canonical.ErrConflict, lifecycle.Projecting)
	p.same("record", p.record(c.Call), before)
	foreign := c.afterSave("accepted")
	foreign.Claim = "another-claim"
	_, err = p.s.Complete(p.ctx, foreign)
	p.refused("Complete with another claim", err, canonical.ErrConflict)
	p.same("record", p.record(c.Call), before)
	p.complete(c.afterSave("accepted"))
	if got := string(p.record(c.Call).Raw.Bytes); got != "accepted" {
		p.Errorf("raw = %q, want the saved one", got)
	}
}

func endNeverAdmitted(p *probe) {
	ghost := call{Admission: p.admission("ghost"), got: canonical.Admitted{Expires: p.h.Now().Add(recordTTL)}}
	p.endMissing("without a run", ghost)
	p.open()
	p.endMissing("without a record", ghost)
	if got := p.state(); got.LastSeq != 0 || got.Reserved != 0 {
		p.Errorf("the run has sequence %d and %d bytes, want 0 and 0", got.LastSeq, got.Reserved)
	}
}

// endMissing sends every ending to a call that has no record. Bodies are small
// and large, since they may travel differently.
func (p *probe) endMissing(when string, c call) {
	p.T.Helper()
	keys := p.keyNames()
	large := canonical.NewRaw(make([]byte, 3<<19))
	for _, raw := range []canonical.Raw{canonical.NewRaw([]byte("small")), canonical.NewRaw(make([]byte, 64<<10)), large} {
		m, e := c.saving(""), c.ready()
		m.Raw, e.Raw = raw, raw
		_, err := p.s.Save(p.ctx, m)
		p.refused("Save "+when, err, canonical.ErrMissing)
		_, err = p.s.Complete(p.ctx, e)
		p.refused("Complete "+when, err, canonical.ErrMissing)
	}
	_, err := p.s.Complete(p.ctx, c.toolFailed())
	p.refused("Complete as ERROR "+when, err, canonical.ErrMissing)
	if p.headIn(c.Run, c.Call).Exists() {
		p.Errorf("%s: there is a record", when)
	}
	p.same("the keys "+when, p.keyNames(), keys)
}

// keyNames lists the names of the run's keys; nothing where the harness cannot.
func (p *probe) keyNames() map[string]bool {
	names := map[string]bool{}
	if p.h.Keys != nil {
		for _, k := range p.h.Keys(runKey()) {
			names[k.Name] = true
		}
	}
	return names
}

func endGone(p *probe) {
	p.open()
	short := func(a *canonical.Admission) { a.TTL = 30 * time.Minute }
	expired, saved, deleted := p.admit("expired", short), p.admit("saved", short), p.admit("deleted")
	p.save(saved.saving("raw"))
	p.complete(deleted.ready())
	p.must("Delete", p.s.Delete(p.ctx, runKey(), deleted.Call))
	p.endMissing("after delete", deleted)
	p.h.Advance(45 * time.Minute)
	p.endMissing("after expiry", expired)
	p.endMissing("after expiry of a saved one", saved)
}

func endLeavesOpen(p *probe) {
	p.open()
	read, write, lost := p.admit("read"), p.admit("write", writes), p.admit("lost", writes)
	if got := p.outstanding(); len(got.Open) != 3 || len(got.Effects) != 2 {
		p.Errorf("three calls: outstanding = %+v, want 3 open and 2 effects", got)
	}
	p.complete(read.ready())
	p.complete(write.toolFailed())
	if got := p.outstanding(); len(got.Open) != 1 || len(got.Effects) != 1 || got.Open[0].Call != lost.Call || got.Effects[0].Call != lost.Call {
		p.Errorf("two ended with known effects: outstanding = %+v, want the third alone", got)
	}
	if err := p.blocked("before"); err != nil {
		p.Errorf("Admit before the unknown ending = %v, want success", err)
	}
	p.complete(lost.unknown())
	got := p.outstanding()
	if len(got.Effects) != 1 || got.Effects[0].Call != lost.Call || !got.Effects[0].Due.IsZero() {
		p.Errorf("effects = %+v, want the unknown one with a zero due time", got.Effects)
	}
	for _, open := range got.Open {
		if open.Call == lost.Call {
			p.Errorf("an ended call is among the open ones: %+v", got.Open)
		}
	}
	p.refused("Admit right after the unknown ending", p.blocked("after"), canonical.ErrUnresolvedEffect)
}

func impossibleVerdicts(p *probe) {
	p.open()
	c := p.admit("c1")
	before := p.record(c.Call)
	for _, v := range []lifecycle.Completion{
		{}, {State: lifecycle.Projecting},
		{State: lifecycle.Ready, Evidence: evidence.Failed, Execution: lifecycle.Completed},
		{State: lifecycle.Ready, Evidence: "FOUND", Execution: lifecycle.Completed},
		{State: lifecycle.Ready, Evidence: evidence.Found, Execution: lifecycle.Unknown},
		{State: lifecycle.Ready, Code: lifecycle.Cancelled, Evidence: evidence.Found, Execution: lifecycle.Completed},
		{State: lifecycle.Error, Evidence: evidence.Failed, Execution: lifecycle.Completed},
		{State: lifecycle.Error, Code: lifecycle.DuplicateToolCall, Evidence: evidence.Failed, Execution: lifecycle.NotStarted},
		{State: lifecycle.Error, Code: lifecycle.Orphaned, Evidence: evidence.Failed, Execution: lifecycle.Completed},
		{State: lifecycle.Error, Code: lifecycle.Cancelled, Evidence: evidence.None, Execution: lifecycle.NotStarted},
	} {
		e := c.ready()
		e.Verdict = v
		if v.State != lifecycle.Ready {
			e.Agent = nil
		}
		for what, send := range map[string]func() (canonical.Ended, error){
			"Complete": func() (canonical.Ended, error) { return p.s.Complete(p.ctx, e) },
			"Settle":   func() (canonical.Ended, error) { return p.s.Settle(p.ctx, e) },
		} {
			if _, err := send(); !errors.As(err, new(*lifecycle.CompletionError)) {
				p.Errorf("%s with %+v = %v, want a CompletionError", what, v, err)
			}
		}
	}
	p.same("record", p.record(c.Call), before)
	p.complete(c.ready())
}
