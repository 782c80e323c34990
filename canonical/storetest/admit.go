package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func admitSubtests() []subtest {
	return []subtest{
		{"K10_admission_stores_everything", 0, admissionStoresEverything},
		{"K10_sequence_budget_and_reserve", 0, admissionTakesOnce},
		{"K11_P01_reply_to_admit_lost", 0, ownClaim},
		{"K11_P04_after_close_or_deadline", 0, ownClaimLater},
		{"K12_P03_after_a_sweep_or_an_ending", 0, ownClaimEnded},
		{"K13_T23_T26_T27_duplicate", 0, duplicate},
		{"K13_T21_duplicate_costs_nothing", 0, duplicateIsFree},
		{"K14_P29_guard_outlives_a_deleted_record", 0, guardAfterDelete},
		{"K14_guard_outlives_an_expired_record", 0, guardAfterExpiry},
		{"K15_P07_two_turns_one_id", 0, twoTurns},
		{"K15_P08_T10_names_that_nearly_meet", 0, namesApart},
		{"K15_T05_ids_as_providers_send_them", 0, providersIDs},
		{"K15_T25_one_id_in_two_runs", 0, twoRuns},
		{"K18_P05_after_not_after", 0, tooLate},
		{"K19_T17_deadline_exactly_now", 0, deadlineNow},
	}
}

func admissionStoresEverything(p *probe) {
	p.open()
	before := p.h.Now()
	c := p.admit("c1", writes, inTurn("3"))
	r := p.record(c.Call)
	p.near("created", r.Created, before)
	p.near("due", r.Due, before.Add(dueTime))
	p.near("due in the answer", c.got.Due, before.Add(dueTime))
	p.near("expires", r.Expires, before.Add(recordTTL))
	p.near("expires in the answer", c.got.Expires, before.Add(recordTTL))
	if c.got.Strength == "" || c.got.EvidenceID != c.EvidenceID || c.got.Seq != 1 {
		p.Errorf("answer = %+v, want sequence 1, the proposed evidence id and a strength", c.got)
	}
	if d := (c.got.Left - runDuration).Abs(); d > p.h.Slack {
		p.Errorf("left = %v, want %v", c.got.Left, runDuration)
	}
	want := canonical.Head{
		Version: canonical.SchemaVersion, Identity: c.identity(), Seq: 1, Tool: c.Tool, Effect: c.Effect, Principal: c.Principal,
		EvidenceID: c.EvidenceID, OperationKey: c.OperationKey, Redacted: c.Redacted, State: lifecycle.Projecting,
		RequestSize: int64(len(c.Request)), RequestSHA256: c.Request.SHA256(),
		Created: r.Created, Due: r.Due, Expires: r.Expires, Strength: r.Strength,
	}
	p.same("head", r.Head, want)
	p.same("the same head from Heads", p.head(c.Call), want)
	if string(r.Request) != string(c.Request) {
		p.Errorf("request = %q, want %q", []byte(r.Request), []byte(c.Request))
	}
	if r.Agent != nil || r.Raw.Present() {
		p.Errorf("a new record has an agent result (%v) or raw (%v), want neither", r.Agent, r.Raw.Bytes)
	}
}

func admissionTakesOnce(p *probe) {
	p.open()
	for i, id := range []canonical.ToolCallID{"c1", "c2", "c3"} {
		c := p.admit(id, func(a *canonical.Admission) { a.Reserve = int64(1000 * (i + 1)) })
		if c.got.Seq != int64(i+1) {
			p.Errorf("%s has sequence %d, want %d", id, c.got.Seq, i+1)
		}
	}
	if got := p.state(); got.LastSeq != 3 || got.Reserved != 6000 {
		p.Errorf("the run has sequence %d and %d bytes, want 3 and 6000", got.LastSeq, got.Reserved)
	}
	order, err := p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order", err)
	p.same("order", order, []canonical.Numbered{{Seq: 1, Call: named("c1")}, {Seq: 2, Call: named("c2")}, {Seq: 3, Call: named("c3")}})
}

// ownAgain delivers an admission once more and compares with the first answer.
func (p *probe) ownAgain(c call) canonical.Admitted {
	p.T.Helper()
	was := p.state()
	a := c.Admission
	a.EvidenceID = "another-evidence-id"
	got, err := p.s.Admit(p.ctx, a)
	p.must("Admit again", err)
	if !got.Own || got.Seq != c.got.Seq || got.EvidenceID != c.got.EvidenceID {
		p.Errorf("own %v, sequence %d, evidence id %s; want true, %d, %s", got.Own, got.Seq, got.EvidenceID, c.got.Seq, c.got.EvidenceID)
	}
	p.same("expiry", got.Expires, c.got.Expires)
	p.same("due", got.Due, c.got.Due)
	p.unchanged(was)
	return got
}

func ownClaim(p *probe) {
	p.open()
	c := p.admit("c1", writes)
	before := p.record(c.Call)
	p.h.Advance(time.Minute)
	if got := p.ownAgain(c); got.State != lifecycle.Projecting {
		p.Errorf("state = %s, want PROJECTING", got.State)
	}
	p.same("record", p.record(c.Call), before)
	order, err := p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order", err)
	if len(order) != 1 {
		p.Errorf("order = %v, want one entry", order)
	}
}

func ownClaimLater(p *probe) {
	p.open()
	c := p.admit("c1")
	p.close()
	if got := p.ownAgain(c); got.State != lifecycle.Projecting {
		p.Errorf("after close: state %s, want PROJECTING", got.State)
	}
	p.h.Advance(runDuration + time.Hour) // past the deadline and past the message's not-after
	got := p.ownAgain(c)
	if got.State != lifecycle.Projecting || got.Left >= 0 {
		p.Errorf("after the deadline: state %s, left %v; want PROJECTING and less than nothing", got.State, got.Left)
	}
	p.complete(c.ready())
}

func ownClaimEnded(p *probe) {
	p.open()
	swept, done := p.admit("swept"), p.admit("done")
	p.complete(done.ready())
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	before := p.record(swept.Call)
	if got := p.ownAgain(swept); got.State != lifecycle.Error || got.Code != lifecycle.Orphaned {
		p.Errorf("after a sweep: %s %s, want ERROR ORPHANED", got.State, got.Code)
	}
	p.same("the swept record", p.record(swept.Call), before)
	if got := p.ownAgain(done); got.State != lifecycle.Ready || got.Code != "" {
		p.Errorf("after an ending: %s %q, want READY without a code", got.State, got.Code)
	}
}

func duplicate(p *probe) {
	p.open()
	open, good, bad := p.admit("open", writes), p.admit("good"), p.admit("bad")
	p.complete(good.ready())
	p.complete(bad.toolFailed())
	was := p.state()
	for _, c := range []struct {
		first call
		state lifecycle.State
	}{{open, lifecycle.Projecting}, {good, lifecycle.Ready}, {bad, lifecycle.Error}} {
		before := p.record(c.first.Call)
		p.h.Advance(time.Minute)
		a := p.admission(c.first.Call.ID, claimed("another-claim"), func(a *canonical.Admission) {
			a.Request, a.Tool, a.EvidenceID, a.TTL = canonical.Body(`{"other":true}`), "other", "other", 2*recordTTL
		})
		_, err := p.s.Admit(p.ctx, a)
		p.stands("Admit "+string(a.Call.ID)+" again", err, canonical.ErrDuplicate, c.state)
		p.same("the first record", p.record(c.first.Call), before)
	}
	p.unchanged(was)
	p.complete(open.ready())
}

func duplicateIsFree(p *probe) {
	p.open(budget(2, 2, 2*callReserve))
	p.admit("c1")
	for range 3 {
		_, err := p.s.Admit(p.ctx, p.admission("c1", claimed("another-claim")))
		p.refused("Admit c1 again", err, canonical.ErrDuplicate)
	}
	p.admit("c2")
}

func guardAfterDelete(p *probe) {
	p.open()
	c := p.admit("c1")
	p.complete(c.ready())
	p.must("Delete", p.s.Delete(p.ctx, runKey(), c.Call))
	was := p.state()
	_, err := p.s.Admit(p.ctx, p.admission("c1", claimed("another-claim")))
	p.stands("Admit after delete", err, canonical.ErrDuplicate, "")
	_, err = p.s.Admit(p.ctx, c.Admission)
	p.refused("the first message again after delete", err, canonical.ErrDuplicate)
	p.unchanged(was)
	if got := p.head(c.Call); got.Exists() {
		p.Errorf("the name has a record again: %+v", got)
	}
}

func guardAfterExpiry(p *probe) {
	p.open()
	c := p.admit("c1", func(a *canonical.Admission) { a.TTL = 30 * time.Minute })
	p.h.Advance(45 * time.Minute)
	if got := p.head(c.Call); got.Exists() {
		p.Fatalf("the record is still there 15 minutes after its life: %+v", got)
	}
	_, err := p.s.Admit(p.ctx, p.admission("c1", claimed("another-claim")))
	p.stands("Admit after expiry", err, canonical.ErrDuplicate, "")
	p.admit("c2")
}

func twoTurns(p *probe) {
	p.open()
	first, ninth := p.admit("exec:80", inTurn("1")), p.admit("exec:80", inTurn("9"), claimed("claim-of-nine"))
	if first.got.Seq != 1 || ninth.got.Seq != 2 {
		p.Errorf("sequences %d, %d; want 1, 2", first.got.Seq, ninth.got.Seq)
	}
	p.complete(first.ready())
	if a, b := p.head(first.Call).State, p.head(ninth.Call).State; a != lifecycle.Ready || b != lifecycle.Projecting {
		p.Errorf("after turn 1 ended: %s, %s; want READY, PROJECTING", a, b)
	}
	if got := p.outstanding().Open; len(got) != 1 || got[0].Call != ninth.Call {
		p.Errorf("open = %v, want turn 9 alone", got)
	}
	order, err := p.s.Order(p.ctx, runKey(), 0, 10)
	p.must("Order", err)
	p.same("order", order, []canonical.Numbered{{Seq: 1, Call: first.Call}, {Seq: 2, Call: ninth.Call}})
}

func namesApart(p *probe) {
	p.open()
	var nearly = []canonical.CallName{
		{Turn: "a", ID: "b:c"}, {Turn: "a.b", ID: "c"}, {Turn: "", ID: "a:b:c"}, {Turn: "", ID: "Call_1"}, {Turn: "", ID: "call_1"},
		{Turn: "A", ID: "b:c"}, {Turn: "a", ID: "b:c:"}, {Turn: "", ID: "call_1:"},
	}
	for i, name := range nearly {
		c := p.admit(name.ID, inTurn(name.Turn), claimed(canonical.Claim("claim-"+string(rune('a'+i)))), func(a *canonical.Admission) {
			a.Request = canonical.Body(`{"of":"` + name.String() + `"}`)
		})
		if c.got.Seq != int64(i+1) {
			p.Errorf("%s has sequence %d, want %d", name, c.got.Seq, i+1)
		}
	}
	for _, name := range nearly {
		if got, want := string(p.record(name).Request), `{"of":"`+name.String()+`"}`; got != want {
			p.Errorf("the record of %s has the request %s, want %s", name, got, want)
		}
	}
	a := p.admission("c", inTurn("a:b"))
	_, err := p.s.Admit(p.ctx, a)
	var bad *canonical.NameError
	if !errors.As(err, &bad) || bad.Field != "turn" {
		p.Errorf("Admit with a colon in the turn = %v, want a NameError of the turn", err)
	}
}

// providersIDs are shapes that were seen in the wild.
func providersIDs(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	ids := []canonical.ToolCallID{
		"call_abc", "toolu_01A", "functions.read_file:3", "call_x|fc_y", "exec:80", "ollama_0", "0", "~", "a=b@c",
		"550e8400-e29b-41d4-a716-446655440000", canonical.ToolCallID(strings.Repeat("call_aZ09|fc_+/=~", 31))[:canonical.MaxToolCallID-1] + "=",
	}
	var want []canonical.Numbered
	for i, id := range ids {
		c := p.admit(id, claimed(canonical.Claim(fmt.Sprintf("claim-%d", i))))
		p.complete(c.ready())
		if got := p.record(named(id)).Identity.Call.ID; got != id {
			p.Errorf("id %q came back as %q", id, got)
		}
		want = append(want, canonical.Numbered{Seq: int64(i + 1), Call: named(id)})
	}
	order, err := p.s.Order(p.ctx, runKey(), 0, 100)
	p.must("Order", err)
	p.same("order", order, want)
}

func twoRuns(p *probe) {
	elsewhere := runKey()
	elsewhere.Scope.Owner = "bob"
	for i, run := range []canonical.RunKey{runKey(), runNamed("run-2"), elsewhere} {
		p.open(func(o *canonical.Opening) { o.Run = run })
		c := p.admit("c1", func(a *canonical.Admission) { a.Run = run })
		if c.got.Seq != 1 {
			p.Errorf("run %d: sequence %d, want 1", i, c.got.Seq)
		}
		if got := p.headIn(run, c.Call).Identity; got != c.identity() {
			p.Errorf("run %d: the record's identity is %+v, want %+v", i, got, c.identity())
		}
	}
}

func tooLate(p *probe) {
	p.open()
	was := p.state()
	a := p.admission("c1", func(a *canonical.Admission) { a.NotAfter = p.h.Now().Add(10 * time.Minute) })
	p.h.Advance(20 * time.Minute)
	before := p.mark()
	_, err := p.s.Admit(p.ctx, a)
	p.refused("Admit ten minutes after its not-after", err, canonical.ErrTooLate)
	p.unmoved("a message that came too late", before)
	p.unchanged(was)
	a.NotAfter = p.h.Now().Add(10 * time.Minute)
	if _, err := p.s.Admit(p.ctx, a); err != nil {
		p.Errorf("Admit before its not-after = %v, want success", err)
	}
}

// deadlineNow is exact where the store's time stands still. Where it runs, a
// deadline cannot be met to the millisecond, and the subtest checks both sides.
func deadlineNow(p *probe) {
	state := p.open()
	p.h.Advance(state.Deadline.Sub(p.h.Now()) - 2*p.h.Slack - time.Millisecond)
	if err := p.blocked("before"); err != nil {
		p.Errorf("Admit before the deadline = %v, want success", err)
	}
	p.h.Advance(3*p.h.Slack + time.Millisecond)
	p.refused("Admit at the deadline", p.blocked("at"), canonical.ErrDeadline)
}
