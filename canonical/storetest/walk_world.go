package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
)

// The walk's clock moves by multiples of fifteen minutes. Every other duration
// is chosen so that no deadline, due time or expiry comes within five minutes
// of where the clock can stand; so the seconds that pass on a real server
// decide nothing, and times are compared as multiples of five minutes.
const (
	walkTick     = 15 * time.Minute
	walkGrid     = 5 * time.Minute
	walkDuration = 125 * time.Minute
	walkTTL      = 140 * time.Minute
	walkTimeout  = 20 * time.Minute
	walkClosing  = 15 * time.Minute
	walkGrace    = 15 * time.Minute
	walkNotAfter = 5 * time.Minute
)

// world is one store in a walk.
type world struct {
	name    string
	h       Harness
	base    time.Time     // the store's time when the walk began
	now     time.Duration // the walk's time
	expires map[canonical.Identity]time.Time
	born    map[canonical.RunKey]lifeBook
	wrong   string // the first thing that was not as it should be
}

// lifeBook is the keys of one life of a run and their expiries at birth.
type lifeBook struct {
	life int
	keys map[string]time.Time
}

func (x *world) fail(format string, args ...any) {
	if x.wrong == "" {
		x.wrong = fmt.Sprintf(format, args...)
	}
}

// time turns the walk's time into the store's.
func (x *world) time(at time.Duration) time.Time { return x.base.Add(at) }

// at writes a store's time in the form in which times are compared.
func (x *world) at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return at(t.Sub(x.base))
}

func at(d time.Duration) string { return fmt.Sprintf("%dm", int(d.Round(walkGrid).Minutes())) }

// expiryOf is what an ending says of its record's expiry: what admission
// answered, or a guess where the store never admitted it.
func (x *world) expiryOf(id canonical.Identity) time.Time {
	if t, ok := x.expires[id]; ok {
		return t
	}
	return x.time(x.now + walkTTL)
}

// checkKeys is P27: no key of the run without an expiry, none moved from what it
// was at birth.
func (x *world) checkKeys(run canonical.RunKey, m *model) {
	if x.h.Keys == nil {
		return
	}
	book := x.born[run]
	if r := m.runs[run]; r == nil || book.keys == nil || book.life != r.life {
		book = lifeBook{keys: map[string]time.Time{}}
		if r != nil {
			book.life = r.life
		}
	}
	keys := x.h.Keys(run)
	if m.find(run) == nil && len(keys) > 0 {
		x.fail("%v is left of a run that is over", keys)
	}
	for _, k := range keys {
		born, known := book.keys[k.Name]
		switch {
		case k.Immortal:
			x.fail("P27: %q has no expiry", k.Name)
		case !known:
			book.keys[k.Name] = k.Expires
		case k.Expires.Sub(born).Abs() > x.h.Slack:
			x.fail("P27: %q was born to expire %v and now expires %v", k.Name, born, k.Expires)
		}
	}
	x.born[run] = book
}

// answer writes an error as a word: the reason of a "no", with the state in the
// way; anything else is trouble, which no walk expects.
func answer(err error) string {
	var no *canonical.RefusedError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &no):
		return refusal(no.Err, string(no.First))
	default:
		return "trouble: " + err.Error()
	}
}

func refusal(sentinel error, first string) string {
	text := "no: " + sentinel.Error()
	if first != "" {
		text += "; " + first
	}
	return text
}

// names writes call names in the order of their spelling: where due times are
// equal a store is free.
func namesText(calls []canonical.CallName) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// dueText writes calls with their due times, and checks that they are in order.
func (x *world) dueText(calls []canonical.OpenCall) string {
	var out []string
	for i, c := range calls {
		if i > 0 && c.Due.Before(calls[i-1].Due) {
			x.fail("%v is not in order of due time", calls)
		}
		out = append(out, x.at(c.Due)+" "+c.Call.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (x *world) stateText(s canonical.RunState) string {
	return stateText(string(s.Phase), s.LastSeq, s.Reserved, x.at(s.Deadline), x.at(s.Expires), x.at(s.Now))
}

func stateText(phase string, seq, reserved int64, deadline, expires, now string) string {
	return fmt.Sprintf("%s; sequence %d, %d bytes, deadline %s, expires %s, now %s", phase, seq, reserved, deadline, expires, now)
}

func (x *world) headText(h canonical.Head) string {
	if !h.Exists() {
		return "none"
	}
	v := headView{
		state: string(h.State), code: string(h.Code), evidence: string(h.Evidence), execution: string(h.Execution), stage: string(h.Stage),
		seq: h.Seq, tool: h.Tool, effect: string(h.Effect), name: h.Identity.Call.String(), run: string(h.Identity.Run), evidenceID: string(h.EvidenceID), operation: h.OperationKey,
		request: h.RequestSHA256, agent: h.AgentSHA256, facts: string(h.Facts), coverage: string(h.Coverage),
		raw:     fmt.Sprint(h.Raw.Stored, h.Raw.Size, h.Raw.SHA256, h.Raw.AtLeast),
		created: x.at(h.Created), due: x.at(h.Due), ended: x.at(h.Ended), expires: x.at(h.Expires),
	}
	return fmt.Sprintf("%+v", v)
}

// headView is a head as it is compared.
type headView struct {
	state, code, evidence, execution, stage        string
	seq                                            int64
	tool, effect, name, run, evidenceID, operation string
	request, agent, facts, coverage, raw           string
	created, due, ended, expires                   string
}
