package localstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/localstore"
)

// flips is how many places of each file are harmed, one at a time.
const flips = 500

// missing is what an answer says that has not what was asked for.
const missing = "missing"

// TestFlippedBit flips one bit at random places of a file, wherever in it, and reads
// all that can be read. Every answer is the one that the sound file gives, or a
// "no"; never other bytes, another state or another order. Where the bit has hidden
// a run or a record, the answer says that it is missing.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		for name, sizes := range map[string][]int{
			"large_bodies": {0, 10, 1000, 30_000, 2*localstore.PieceBytes + 5, 500, 20, 7000},
			"small_bodies": {0, 10, 1, 100, 20, 3, 50},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				flipBits(t, sizes)
			})
		}
	})
}

func flipBits(t *testing.T, sizes []int) {
	clock := fakes.NewClock()
	path := filepath.Join(folder(t), localstore.FileName)
	calls := filled(t, path, clock, sizes)
	sound, err := os.ReadFile(path)
	must(t, err)
	s, err := localstore.Open(path, &localstore.Options{Now: clock.Now})
	must(t, err)
	truth := everything(s, calls)
	must(t, s.Close())
	for question, answer := range truth {
		if answer == missing || strings.HasPrefix(answer, "no: ") {
			t.Fatalf("the sound file answers %s with %s", question, answer)
		}
	}
	r := rand.New(rand.NewPCG(3, uint64(len(sizes))))
	n := map[string]int{}
	for range flips {
		at, bit := r.IntN(len(sound)), byte(1)<<r.IntN(8)
		sound[at] ^= bit
		must(t, os.WriteFile(path, sound, 0o600))
		sound[at] ^= bit
		n[harmed(t, path, clock, calls, truth, fmt.Sprintf("bit %#x of byte %d", bit, at))]++
	}
	t.Logf("%d flips in %d bytes: %v", flips, len(sound), n)
	if n["found"]+n["not opened"] < flips/50 {
		t.Errorf("%v: too few to show anything", n)
	}
}

// harmed reads a harmed file and says what came of it.
func harmed(t *testing.T, path string, clock *fakes.Clock, calls []string, truth map[string]string, what string) string {
	t.Helper()
	s, err := localstore.Open(path, &localstore.Options{Now: clock.Now})
	if err != nil {
		return "not opened"
	}
	defer func() { _ = s.Close() }() // a file with pages that do not fit together may not close well
	result := "in no answer"
	for question, answer := range everything(s, calls) {
		switch {
		case answer == truth[question]:
		case strings.HasPrefix(answer, "no: "):
			result = "found"
		case answer == missing:
			if result != "found" {
				result = missing
			}
		default:
			t.Errorf("%s: %s is answered with\n%.300s\nby the sound file with\n%.300s", what, question, answer, truth[question])
		}
	}
	return result
}

// filled makes a file with calls in every state, and answers their names.
func filled(t *testing.T, path string, clock *fakes.Clock, sizes []int) []string {
	t.Helper()
	ctx := context.Background()
	s, err := localstore.Open(path, &localstore.Options{Now: clock.Now})
	must(t, err)
	o := opening("run")
	o.Budget, o.Quota = canonical.Budget{Calls: 90, PerTool: 90, Bytes: 1 << 30}, canonical.Quota{Records: 100}
	state, err := s.OpenRun(ctx, o)
	must(t, err)
	var calls []string
	admit := func(call string, effect canonical.Effect) (canonical.Admission, time.Time) {
		a := admission("run", call, state.Now)
		a.Effect = effect
		got, err := s.Admit(ctx, a)
		must(t, err)
		calls = append(calls, call)
		return a, got.Expires
	}
	for i, size := range sizes {
		a, expires := admit(fmt.Sprint("call-", i), canonical.EffectRead)
		raw := make([]byte, size)
		for i := range raw {
			raw[i] = byte(i * 7)
		}
		_, err := s.Complete(ctx, ending(a, expires, raw))
		must(t, err)
	}
	swept, expires := admit("swept", canonical.EffectWrite)
	clock.Advance(5 * time.Minute)
	_, err = s.Sweep(ctx, canonical.Sweeping{Run: o.Run, Max: 10})
	must(t, err)
	_, err = s.Settle(ctx, ending(swept, expires, []byte("late raw")))
	must(t, err)
	must(t, s.Resolve(ctx, canonical.Resolution{Run: o.Run, Call: swept.Call, Verdict: canonical.Applied, Evidence: "receipt 17"}))
	state, err = s.Inspect(ctx, o.Run)
	must(t, err)
	open, _ := admit("open", canonical.EffectWrite)
	_, err = s.Save(ctx, canonical.Saving{Run: open.Run, Call: open.Call, Claim: open.Claim, Raw: canonical.NewRaw([]byte("saved raw"))})
	must(t, err)
	admit("waits", canonical.EffectWrite)
	must(t, s.Close())
	return calls
}

// everything asks all that can be asked of the run.
func everything(s *localstore.Store, calls []string) map[string]string {
	ctx, run := context.Background(), runKey("run")
	out := map[string]string{}
	note := func(question string, answer any, err error) {
		switch {
		case err != nil:
			out[question] = "no: " + err.Error()
		default:
			out[question] = fmt.Sprintf("%+v", answer)
		}
	}
	state, err := s.Inspect(ctx, run)
	note("run", state, err)
	order, err := s.Order(ctx, run, 0, 1000)
	note("order", order, err)
	outstanding, err := s.Outstanding(ctx, run)
	note("outstanding", outstanding, err)
	list, err := s.ListRuns(ctx, run.Scope, canonical.ListedRun{}, 10)
	note("runs of the scope", list, err)
	if err == nil && len(list) == 0 {
		out["runs of the scope"] = missing
	}
	use, err := s.ScopeUse(ctx, run.Scope)
	note("use of the scope", use, err)
	if err == nil && use.Runs == 0 {
		out["use of the scope"] = missing
	}
	_, err = s.Admit(ctx, admission("run", calls[0], state.Now))
	note("the first call again", err == nil, err)
	for _, call := range calls {
		noteCall(ctx, s, call, out, note)
	}
	return out
}

func noteCall(ctx context.Context, s *localstore.Store, call string, out map[string]string, note func(string, any, error)) {
	run, name := runKey("run"), canonical.CallName{ID: canonical.ToolCallID(call)}
	heads, err := s.Heads(ctx, run, []canonical.CallName{name})
	if err == nil && heads[0].Fault != nil {
		err = heads[0].Fault
	}
	note("head of "+call, heads, err)
	if err == nil && !heads[0].Exists() {
		out["head of "+call] = missing
	}
	rec, err := s.Record(ctx, run, name)
	note("record of "+call, fmt.Sprintf("%+v %q %q %q %q %q", rec, []byte(rec.Request), []byte(rec.Raw.Bytes), []byte(rec.Agent), []byte(rec.Facts), []byte(rec.Coverage)), err)
	found, err := s.FindEvidence(ctx, run, canonical.EvidenceID("evidence-"+call))
	note("evidence of "+call, found, err)
	set, err := s.SettlementOf(ctx, run, name)
	text := ""
	if set.Late != nil {
		text = fmt.Sprintf("%+v %q %q", *set.Late, []byte(set.Late.Raw.Bytes), []byte(set.Late.Agent))
	}
	if set.Resolved != nil {
		text += fmt.Sprintf(" %+v", *set.Resolved)
	}
	note("settlement of "+call, text+set.Expires.String(), err)
	if err == nil && set.Expires.IsZero() && call == "swept" {
		out["settlement of "+call] = missing
	}
	if rec.State == lifecycle.Ready {
		part, err := s.RawPart(ctx, run, name, rec.Raw.Size/2, 100)
		note("part of "+call, fmt.Sprintf("%+v %q", part, []byte(part.Bytes)), err)
	}
}
