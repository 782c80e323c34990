package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// runPool is the runs of a walk: few, so that messages meet.
func runPool() []canonical.RunKey {
	var runs []canonical.RunKey
	for _, owner := range []string{"alice", "bob"} {
		for _, id := range []canonical.RunID{"run-1", "run-2"} {
			runs = append(runs, canonical.RunKey{Scope: canonical.Scope{Tenant: "acme", Owner: owner}, Run: id})
		}
	}
	return append(runs, canonical.RunKey{Scope: canonical.Scope{Namespace: "acme"}, Run: "run-1"})
}

// namePool is the names of a walk: few, and some that nearly meet.
func namePool() []canonical.CallName {
	var names []canonical.CallName
	for _, turn := range []canonical.Turn{"", "1", "a.b"} {
		for _, id := range []canonical.ToolCallID{"call_1", "Call_1", "exec:80", "b:c", "c", "call_2", "call_3", "call_4"} {
			names = append(names, canonical.CallName{Turn: turn, ID: id})
		}
	}
	return names
}

// generator makes the next message of a walk from what the model knows.
type generator struct {
	r       *rand.Rand
	m       *model
	n       int
	sent    map[canonical.RunKey][]message // old messages, to be delivered again
	asked   int                            // admissions
	collide int                            // admissions of a name that had been seen
	second  int                            // of these, under another claim while the first was open
}

func newGenerator(seed uint64, m *model) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 0x5704e)), m: m, sent: map[canonical.RunKey][]message{}}
}

// next is one step. The weights are out of a thousand; the rest moves time.
func (g *generator) next() step {
	g.n++
	run := g.run()
	if g.m.find(run) == nil && g.r.IntN(4) > 0 {
		return step{message: g.open(run)}
	}
	at := g.r.IntN(1000)
	for _, choice := range []struct {
		weight int
		make   func(canonical.RunKey) message
	}{
		{272, g.admit}, {175, g.complete}, {70, g.save}, {125, g.again}, {60, g.sweep}, {50, g.settle}, {50, g.resolve},
		{40, g.delete}, {30, g.open}, {17, g.join}, {88, g.read}, {3, g.close}, {3, g.release},
	} {
		if at -= choice.weight; at < 0 {
			return step{message: choice.make(run)}
		}
	}
	return step{advance: walkTick * time.Duration(1+g.r.IntN(3)*g.r.IntN(2))}
}

// run is one of the pool, the ones that still admit preferred.
func (g *generator) run() canonical.RunKey {
	pool := runPool()
	for range 2 {
		if run := pool[g.r.IntN(len(pool))]; g.admits(run) {
			return run
		}
	}
	return pool[g.r.IntN(len(pool))]
}

func (g *generator) admits(run canonical.RunKey) bool {
	r := g.m.find(run)
	return r != nil && !r.closed && !r.damaged && g.m.now < r.deadline
}

// below is true with a chance of weight in a hundred.
func (g *generator) below(weight int) bool { return g.r.IntN(100) < weight }

// took keeps a message for a later delivery, and counts.
func (g *generator) took(s step) {
	if s.message == nil {
		return
	}
	run := s.message.target()
	list := append(g.sent[run], s.message)
	if _, opens := s.message.(openMessage); opens && len(list) > 5 && g.m.find(run) != nil && len(g.m.find(run).order) == 0 {
		list = list[len(list)-5:] // of the life before only a few
	}
	if len(list) > 40 {
		list = list[20:]
	}
	g.sent[run] = list
}

// collisions says how often names met.
func (g *generator) collisions() string {
	return fmt.Sprintf("%d admissions, %d%% of names seen before, %d under a second claim while the first was open", g.asked, 100*g.collide/max(g.asked, 1), g.second)
}

// thin lists what a walk that shows something would have met.
func (g *generator) thin(tally map[string]int) []string {
	var out []string
	if g.collide*100 < g.asked*30 {
		out = append(out, fmt.Sprintf("%d of %d admissions met a name that was seen, want at least 30 %%", g.collide, g.asked))
	}
	for _, want := range []string{
		"admit: created", "admit: own", "admit: no: " + canonical.ErrDuplicate.Error(), "admit: no: " + canonical.ErrRunMissing.Error(),
		"admit: no: " + canonical.ErrRunClosed.Error(), "admit: no: " + canonical.ErrRunDamaged.Error(), "admit: no: " + canonical.ErrTooLate.Error(),
		"admit: no: " + canonical.ErrDeadline.Error(), "admit: no: " + canonical.ErrUnresolvedEffect.Error(), "admit: no: " + canonical.ErrCapacity.Error(),
		"admit: no: " + canonical.ErrRunBudget.Error(), "admit: no: " + canonical.ErrToolBudget.Error(),
		"save: stored", "save: repeat", "save: no: " + canonical.ErrConflict.Error(), "save: no: " + canonical.ErrMissing.Error(),
		"complete: stored", "complete: repeat", "complete: no: " + canonical.ErrConflict.Error(), "complete: no: " + canonical.ErrMissing.Error(),
		"sweep: swept", "settle: stored", "settle: repeat", "settle: no: " + canonical.ErrConflict.Error(), "settle: no: " + canonical.ErrMissing.Error(),
		"resolve: done", "resolve: no: " + canonical.ErrStillOpen.Error(), "resolve: no: " + canonical.ErrConflict.Error(), "resolve: no: " + canonical.ErrMissing.Error(),
		"delete: done", "delete: no: " + canonical.ErrStillOpen.Error(), "delete: no: " + canonical.ErrUnresolvedEffect.Error(),
		"open: no: " + canonical.ErrRunTaken.Error(), "open: no: " + canonical.ErrRunConflict.Error(), "close: closed", "settlement: settlement",
		"open: no: " + canonical.ErrQuota.Error(), "release: done", "use: use", "list: list", "find: found", "find: no: " + canonical.ErrMissing.Error(),
		"part: part", "part: no: " + canonical.ErrMissing.Error(), "part: beyond",
	} {
		if tally[want] == 0 {
			out = append(out, fmt.Sprintf("the walk never met %q; take a longer one", want))
		}
	}
	return out
}

func (g *generator) pick(names []canonical.CallName) canonical.CallName {
	return names[g.r.IntN(len(names))]
}

func (g *generator) anyName(canonical.RunKey) canonical.CallName { return g.pick(namePool()) }

// admitted is a name of the run that has a record in most cases, open ones
// preferred.
func (g *generator) admitted(run canonical.RunKey) canonical.CallName {
	r := g.m.find(run)
	if r == nil || len(r.order) == 0 || g.below(8) {
		return g.anyName(run)
	}
	if open := g.m.openNames(r); len(open) > 0 && g.below(70) {
		return g.pick(open)
	}
	return g.pick(r.order)
}

// claimOf is the claim that holds a record, or now and then another one.
func (g *generator) claimOf(run canonical.RunKey, name canonical.CallName) canonical.Claim {
	if c := g.m.call(g.m.find(run), name); c != nil && !g.below(10) {
		return c.admission.Claim
	}
	return "another-claim"
}

// seen is the highest sequence that the sender knows, or rarely more than that.
func (g *generator) seen(run canonical.RunKey) int64 {
	r := g.m.find(run)
	switch {
	case r == nil || g.below(50):
		return 0
	case g.r.IntN(1000) == 0:
		return int64(len(r.order)) + 3
	default:
		return int64(len(r.order))
	}
}

// body is some bytes: mostly few, now and then more than travels as an argument,
// rarely more than fits one piece.
func (g *generator) body() canonical.Body {
	size := g.r.IntN(60)
	switch n := g.r.IntN(1000); {
	case n < 2:
		size = 1<<20 + g.r.IntN(1<<19)
	case n < 40:
		size = 2000 + g.r.IntN(4000)
	}
	text := fmt.Sprintf("%d\x00\xff", g.r.Uint64())
	return canonical.Body(strings.Repeat(text, size/len(text)+1)[:size])
}

func (g *generator) open(run canonical.RunKey) message {
	o := canonical.Opening{
		Run: run, Token: "token-1", Duration: walkDuration,
		Budget: canonical.Budget{Calls: 12, PerTool: 6, Bytes: canonical.Unlimited},
		Limits: opening().Limits,
	}
	o.Limits.RecordTTL, o.Limits.ToolTimeout = walkTTL, walkTimeout
	if r := g.m.find(run); r != nil {
		o = r.opening
	} else {
		o.Budget.Bytes = []int64{canonical.Unlimited, 20_000, 9_000}[g.r.IntN(3)]
		o.Budget.Calls = []int{canonical.Unlimited, 12, 20}[g.r.IntN(3)]
		o.Token = canonical.Token(fmt.Sprintf("token-%d", g.n))
		if o.Budget.Bytes != canonical.Unlimited && o.Budget.Calls != canonical.Unlimited {
			o.Quota = canonical.Quota{Records: 30}
		}
	}
	if o.Quota.Set() && g.below(20) { // each opening brings its own
		o.Quota = canonical.Quota{Records: 100, Bytes: 35_000}
	}
	switch g.r.IntN(6) {
	case 0:
		o.Token = "another-token"
	case 1:
		o.Budget.PerTool++
	}
	return openMessage{o}
}

func (g *generator) join(run canonical.RunKey) message {
	m := joinMessage{run, "another-token"}
	if r := g.m.find(run); r != nil && !g.below(20) {
		m.token = r.opening.Token
	}
	return m
}

func (g *generator) close(run canonical.RunKey) message {
	m := closeMessage{canonical.Closing{Run: run, Token: "another-token", Seen: g.seen(run)}}
	if r := g.m.find(run); r != nil && !g.below(20) {
		m.Token = r.opening.Token
	}
	return m
}

func (g *generator) admit(run canonical.RunKey) message {
	name := g.anyName(run)
	r := g.m.find(run)
	if c := g.m.call(r, name); c != nil && c.state == lifecycle.Projecting {
		g.second++
	}
	g.asked++
	if r != nil && r.seen(name) {
		g.collide++
	}
	a := canonical.Admission{
		Run: run, Call: name, Claim: canonical.Claim(fmt.Sprintf("claim-%d", g.n)), EvidenceID: canonical.EvidenceID(fmt.Sprintf("evidence-%d", g.n)),
		OperationKey: fmt.Sprintf("operation-%d", g.n), Tool: []string{"sql", "logs", "docs"}[g.r.IntN(3)], Effect: canonical.EffectRead,
		Request: canonical.Body(fmt.Sprintf(`{"n":%d}`, g.n)), ToolBudget: []int{canonical.Unlimited, canonical.Unlimited, 3}[g.r.IntN(3)],
		Reserve: 1000, Timeout: walkTimeout, Closing: walkClosing, TTL: walkTTL, Seen: g.seen(run),
	}
	if g.below(20) {
		a.Effect = []canonical.Effect{canonical.EffectWrite, canonical.EffectUnknown}[g.r.IntN(2)]
	}
	m := admitMessage{Admission: a, notAfter: g.m.now + walkNotAfter}
	if g.below(2) {
		m.notAfter = g.m.now - 2*walkNotAfter
	}
	return m
}

func (g *generator) save(run canonical.RunKey) message {
	name := g.admitted(run)
	raw := canonical.NewRaw(g.body())
	if c := g.m.call(g.m.find(run), name); c != nil && c.raw.Present() && g.below(50) {
		raw = c.raw
	}
	return saveMessage{canonical.Saving{Run: run, Call: name, Claim: g.claimOf(run, name), Raw: raw, Seen: g.seen(run)}}
}

func (g *generator) complete(run canonical.RunKey) message {
	return endMessage{Ending: g.ending(run, g.admitted(run))}
}

func (g *generator) settle(run canonical.RunKey) message {
	name := g.admitted(run)
	if r := g.m.find(run); r != nil {
		for _, swept := range r.order { // the first that was swept, more often than not
			if c := g.m.call(r, swept); c != nil && c.swept && g.below(60) {
				name = swept
			}
		}
	}
	return endMessage{Ending: g.ending(run, name), late: true}
}

// ending is an outcome of a call: READY in most cases. What it says of raw fits
// what was saved before, unless it is meant to be refused.
func (g *generator) ending(run canonical.RunKey, name canonical.CallName) canonical.Ending {
	e := canonical.Ending{Run: run, Call: name, Claim: g.claimOf(run, name), Raw: canonical.NewRaw(g.body()), Seen: g.seen(run)}
	c := g.m.call(g.m.find(run), name)
	saved := c != nil && c.raw.Present()
	if saved && g.below(80) {
		e.Raw, e.RawSaved = c.raw, true
		e.Raw.Bytes = nil
	}
	switch n := g.r.IntN(10); {
	case n < 6:
		e.Verdict, e.Agent, e.Facts, e.Coverage = lifecycle.Succeed(evidence.Found), g.body(), canonical.Body(`[{"n":1}]`), canonical.Body(`{"c":1}`)
	case n == 6:
		e.Verdict, e.Agent, e.Coverage = lifecycle.Succeed(evidence.None), g.body(), canonical.Body(`{"c":2}`)
	case n == 7 || saved: // an unknown end of a call whose raw is known has no meaning
		e.Verdict, e.Stage = lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed), canonical.StageExecute
	default:
		e.Verdict, e.Stage = lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown), canonical.StageExecute
		e.Raw = canonical.Raw{Size: 1 << 30, SHA256: canonical.Body(fmt.Sprint(g.n)).SHA256(), AtLeast: true}
	}
	return e
}

// again is an old message of the run, as a network may deliver it.
func (g *generator) again(run canonical.RunKey) message {
	if list := g.sent[run]; len(list) > 0 {
		return list[g.r.IntN(len(list))]
	}
	return inspectMessage{run}
}

// sweep takes everything, or the first ones where it is clear which these are.
func (g *generator) sweep(run canonical.RunKey) message {
	m := sweepMessage{canonical.Sweeping{Run: run, Grace: walkGrace, Max: 100}}
	r := g.m.find(run)
	if r == nil || g.m.now > r.deadline-walkDuration+walkTTL { // a record may have expired, and be looked at in vain
		return m
	}
	late := g.m.overdue(r, walkGrace)
	if len(late) > 1 && r.calls[late[0]].due != r.calls[late[1]].due {
		m.Max = 1
	}
	return m
}

func (g *generator) resolve(run canonical.RunKey) message {
	m := resolveMessage{canonical.Resolution{Run: run, Call: g.admitted(run), Verdict: canonical.Applied, Evidence: "receipt"}}
	if r := g.m.find(run); r != nil {
		for _, name := range r.order {
			if _, waits := r.effects[name]; waits && g.below(60) {
				m.Call = name
			}
		}
	}
	if g.below(20) {
		m.Verdict = canonical.NotApplied
	}
	return m
}

func (g *generator) delete(run canonical.RunKey) message {
	name := g.admitted(run)
	if r := g.m.find(run); r != nil && len(r.order) > 0 && g.below(50) {
		name = g.pick(r.order)
	}
	return deleteMessage{run, name}
}

func (g *generator) read(run canonical.RunKey) message {
	name := g.admitted(run)
	return []message{
		inspectMessage{run}, headsMessage{run, []canonical.CallName{name, g.anyName(run), name}}, viewMessage{run, name}, recordMessage{run, name},
		orderMessage{run, int64(g.r.IntN(8)), 1 + g.r.IntN(5)}, outstandingMessage{run}, settlementMessage{run, name},
		useMessage{run.Scope}, listMessage{run.Scope, 1 + g.r.IntN(3)}, findMessage{run, g.evidence(run, name)}, g.part(run, name),
	}[g.r.IntN(11)]
}

func (g *generator) release(run canonical.RunKey) message { return releaseMessage{run} }

// evidence is the id of a call, now and then one that another run may have.
func (g *generator) evidence(run canonical.RunKey, name canonical.CallName) canonical.EvidenceID {
	if c := g.m.call(g.m.find(run), name); c != nil && !g.below(30) {
		return c.admission.EvidenceID
	}
	return canonical.EvidenceID(fmt.Sprintf("evidence-%d", 1+g.r.IntN(g.n)))
}

// part is some place in a raw result, or just behind it.
func (g *generator) part(run canonical.RunKey, name canonical.CallName) message {
	size := 20
	if r := g.m.find(run); r != nil {
		for _, kept := range r.order { // the first that has one, more often than not
			if c := g.m.call(r, kept); c != nil && c.raw.Present() && g.below(60) {
				name, size = kept, len(c.raw.Bytes)
				break
			}
		}
	}
	return partMessage{run, name, int64(g.r.IntN(size + size/8 + 2)), 1 + g.r.IntN(size+1)}
}
