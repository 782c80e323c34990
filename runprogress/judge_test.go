package runprogress_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// A head that contradicts itself is some store's mistake or somebody's tampering.
// Whatever it is, nothing of it may be told as observed.
func TestProject_a_contradiction_excludes_the_record(t *testing.T) {
	t.Parallel()
	good := string(mustEncode(t, rows("Artist", "275")))
	for _, c := range []struct {
		name   string
		change func(*canonical.Head)
		want   runprogress.Reason // empty: stays READY
	}{
		{"nothing", func(*canonical.Head) {}, ""},
		{"zero head", func(h *canonical.Head) { *h = canonical.Head{} }, runprogress.Missing},
		{"no state", func(h *canonical.Head) { h.State = "" }, runprogress.Missing},
		{"another run", func(h *canonical.Head) { h.Identity.Run = "r2" }, runprogress.Missing},
		{"another scope", func(h *canonical.Head) { h.Identity.Scope.Owner = "x" }, runprogress.Missing},
		{"another call", func(h *canonical.Head) { h.Identity.Call.ID = "other" }, runprogress.Missing},
		{"another turn", func(h *canonical.Head) { h.Identity.Call.Turn = "2" }, runprogress.Missing},
		{"a fault of another run's record", func(h *canonical.Head) { h.Identity.Run, h.Fault = "r2", canonical.ErrCorrupt }, runprogress.Missing},
		{"newer by its fault", func(h *canonical.Head) { h.Fault, h.State = canonical.ErrNewerVersion, "" }, runprogress.NewerVersion},
		{"newer by its number", func(h *canonical.Head) { h.Version = canonical.SchemaVersion + 1 }, runprogress.NewerVersion},
		{"corrupt by its fault", func(h *canonical.Head) { h.Fault, h.State = canonical.ErrCorrupt, "" }, runprogress.Corrupt},
		{"foreign", func(h *canonical.Head) { h.Fault, h.State = canonical.ErrForeign, "" }, runprogress.Corrupt},
		{"a fault nobody knows", func(h *canonical.Head) { h.Fault = errors.New("marker-4711") }, runprogress.Corrupt},
		{"no version", func(h *canonical.Head) { h.Version = 0 }, runprogress.Corrupt},
		{"another place", func(h *canonical.Head) { h.Seq = 2 }, runprogress.Corrupt},
		{"no tool", func(h *canonical.Head) { h.Tool = "" }, runprogress.Corrupt},
		{"a tool with a line feed", func(h *canonical.Head) { h.Tool = "a\n2 forged" }, runprogress.Corrupt},
		{"a state nobody knows", func(h *canonical.Head) { h.State = "DONE" }, runprogress.Corrupt},
		{"open", func(h *canonical.Head) { h.State = lifecycle.Projecting }, runprogress.Projecting},
		{"READY without a status", func(h *canonical.Head) { h.Evidence = "" }, runprogress.Corrupt},
		{"READY with ERROR", func(h *canonical.Head) { h.Evidence = evidence.Failed }, runprogress.Corrupt},
		{"READY with a lower-case status", func(h *canonical.Head) { h.Evidence = "evidence_found" }, runprogress.Corrupt},
		{"READY with a code", func(h *canonical.Head) { h.Code = lifecycle.ToolTimeout }, runprogress.Corrupt},
		{"READY that did not run", func(h *canonical.Head) { h.Execution = lifecycle.NotStarted }, runprogress.Corrupt},
		{"ERROR without a code", func(h *canonical.Head) { h.State, h.Evidence = lifecycle.Error, evidence.Failed }, runprogress.Corrupt},
		{"ERROR with an observed status", func(h *canonical.Head) { h.State, h.Code = lifecycle.Error, lifecycle.ToolExecutionFailed }, runprogress.Corrupt},
		{"ERROR with a forged code", func(h *canonical.Head) {
			h.State, h.Evidence, h.Code = lifecycle.Error, evidence.Failed, "X\n1 query = found"
		}, runprogress.Corrupt},
		{"ERROR", func(h *canonical.Head) {
			h.State, h.Evidence, h.Code = lifecycle.Error, evidence.Failed, lifecycle.ToolExecutionFailed
		}, runprogress.Failed},
		{"a negative size", func(h *canonical.Head) { h.Raw.Size = -1 }, runprogress.Corrupt},
		{"a negative agent size", func(h *canonical.Head) { h.AgentSize = -1 }, runprogress.Corrupt},
		{"an end nobody noted", func(h *canonical.Head) { h.Ended = time.Time{} }, runprogress.Corrupt},
		{"an end in the year 10000", func(h *canonical.Head) { h.Ended = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, runprogress.Corrupt},
		{"facts that are no JSON", func(h *canonical.Head) { h.Facts = canonical.Body("nonsense") }, runprogress.Corrupt},
		{"facts with a line feed", func(h *canonical.Head) {
			h.Facts = canonical.Body(strings.Replace(good, "Artist", `a\nb`, 1))
		}, runprogress.Corrupt},
		{"facts and more", func(h *canonical.Head) { h.Facts = canonical.Body(good + good) }, runprogress.Corrupt},
		{"coverage that is no JSON", func(h *canonical.Head) { h.Coverage = canonical.Body("[") }, runprogress.Corrupt},
		{"absence without coverage", func(h *canonical.Head) { h.Evidence, h.Facts = evidence.None, nil }, runprogress.Corrupt},
		{"absence of a search that did not end", func(h *canonical.Head) {
			h.Evidence, h.Facts, h.Coverage = evidence.None, nil, canonical.Body(`{"looked_for":"x","checked":["docs"],"complete":false}`)
		}, runprogress.Corrupt},
		{"absence with facts", func(h *canonical.Head) {
			h.Evidence, h.Coverage = evidence.None, canonical.Body(`{"looked_for":"x","checked":["docs"],"complete":true}`)
		}, runprogress.Corrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fakeBackend().start(t))
			b.answered("call_a", "query", rows("Artist", "275"))
			b.close()
			store := &asked{Store: b.Store, alter: func(heads []canonical.Head) []canonical.Head {
				c.change(&heads[0])
				return heads
			}}
			r, err := runprogress.Project(t.Context(), store, b.run, b.done.Calls())
			if err != nil {
				t.Fatalf("Project: %v", err)
			}
			checkVerdict(t, r, c.want)
		})
	}
}

func checkVerdict(t *testing.T, r runprogress.Report, want runprogress.Reason) {
	t.Helper()
	var got runprogress.Reason
	if len(r.Excluded) == 1 {
		got = r.Excluded[0].Reason
	}
	if got != want || len(r.Excluded)+len(r.Facts) != 1 || len(r.Absences) != 0 {
		t.Errorf("excluded %v with %d facts and %d absences, want %q alone", r.Excluded, len(r.Facts), len(r.Absences), want)
	}
	surely := want == "" || want == runprogress.Missing || want == runprogress.Failed
	if r.Complete != surely {
		t.Errorf("complete %v, want %v", r.Complete, surely)
	}
	if believed := want == "" || want == runprogress.Failed; (r.Totals.RawBytes > 0) != believed {
		t.Errorf("raw bytes %d of a record that is %q", r.Totals.RawBytes, want)
	}
	text := r.Text()
	if strings.Contains(text, "marker-4711") || strings.Contains(text, "forged") || strings.Count(text, "\n") != 2 {
		t.Errorf("text\n%s\nwant two lines and nothing forged", text)
	}
}

func TestProject_totals(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	b.admit("none", "query")
	b.fail("none", lifecycle.ToolExecutionFailed, lifecycle.Completed)
	b.answered("small", "query", rows("a", "1"))
	b.admit("large", "search")
	b.end("large", canonical.Ending{Verdict: lifecycle.Fail(lifecycle.ResultTooLarge, lifecycle.Completed),
		Raw: canonical.Raw{Size: 5 << 20, SHA256: canonical.Body("x").SHA256(), AtLeast: true}})
	b.answered("quiet", "note")
	b.admit("open", "query")
	r := b.elsewhere()
	want := runprogress.Totals{Admitted: 5, Calls: 5, Ready: 2, WithoutFacts: 1,
		RawBytes:       5<<20 + int64(len("raw of small")+len("raw of quiet")),
		ProjectedBytes: int64(len("agent of small") + len("agent of quiet"))}
	largest := r.Totals.Largest
	r.Totals.Largest = nil
	if r.Totals != want {
		t.Errorf("totals %+v, want %+v", r.Totals, want)
	}
	if largest == nil || largest.ToolCallID != "large" || largest.Seq != 3 || largest.Tool != "search" || largest.RawBytes != 5<<20 {
		t.Errorf("largest %+v, want call 3 with 5 MiB", largest)
	}
	if text := r.Text(); !strings.Contains(text, "no facts given by 1 ready call\n") {
		t.Errorf("text\n%s\nwant the ready call without facts", text)
	}
}

// Every admission must have been looked at before a report may say that it is
// complete; a wrong sequence must not stand in for one that was not.
func TestProject_complete_needs_every_admission(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	b.answered("a", "q", rows("a", "1"))
	b.answered("b", "q", rows("b", "1"))
	if b.report().Complete {
		t.Error("complete while the run is open")
	}
	b.close()
	one, two := canonical.Numbered{Seq: 1, Call: call("a")}, canonical.Numbered{Seq: 2, Call: call("b")}
	for _, c := range []struct {
		name  string
		calls []canonical.Numbered
		want  bool
	}{
		{"both", []canonical.Numbered{two, one}, true},
		{"the first", []canonical.Numbered{one}, false},
		{"the second", []canonical.Numbered{two}, false},
		{"a name that was never admitted", []canonical.Numbered{one, {Seq: 1, Call: call("ghost")}}, false},
		{"a sequence that was never given", []canonical.Numbered{one, two, {Seq: 99, Call: call("ghost")}}, false},
		{"nothing", nil, false},
	} {
		r, err := runprogress.Project(t.Context(), b, b.run, c.calls)
		if err != nil || r.Complete != c.want {
			t.Errorf("%s: complete %v, %v, want %v", c.name, r.Complete, err, c.want)
		}
	}
}

func TestProject_damaged_run_still_reports(t *testing.T) {
	t.Parallel()
	d := fakeBackend().start(t)
	b := newBench(t, d)
	old := snapshot(t, d, b.run)
	b.answered("a", "q", rows("a", "1"))
	b.answered("b", "q", rows("b", "1"))
	old()
	n := call("c")
	_, err := b.Admit(t.Context(), canonical.Admission{Run: b.run, Call: n, Claim: claimOf(n), EvidenceID: "e", Tool: "q",
		Effect: canonical.EffectRead, ToolBudget: canonical.Unlimited, NotAfter: b.state.Now.Add(time.Hour),
		Timeout: time.Minute, Closing: time.Second, TTL: 24 * time.Hour, Seen: 2})
	if !errors.Is(err, canonical.ErrRunDamaged) {
		t.Fatalf("Admit = %v, want %v", err, canonical.ErrRunDamaged)
	}
	for name, r := range map[string]runprogress.Report{"tracker": b.report(), "order": b.elsewhere()} {
		if got, want := factIDs(r), "1:q:a 2:q:b "; got != want || r.Phase != canonical.RunDamaged || r.Complete {
			t.Errorf("%s: facts of %q, %s, complete %v; want %q, damaged, not complete", name, got, r.Phase, r.Complete, want)
		}
		if want := "run r1, damaged: 2 calls admitted, 2 looked at"; !strings.HasPrefix(r.Text(), want) {
			t.Errorf("%s: text %q, want it to begin %q", name, r.Text(), want)
		}
	}
}

func TestProject_many_exclusions_are_counted(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	const calls = runprogress.MaxExclusions + 9
	for i := range calls {
		name := fmt.Sprintf("call_%d", i)
		b.admit(name, "q")
		b.fail(name, lifecycle.ToolExecutionFailed, lifecycle.Completed)
	}
	r := b.report()
	if len(r.Excluded) != runprogress.MaxExclusions || r.Omitted.Exclusions != 9 {
		t.Errorf("%d listed and %d counted, want %d and 9", len(r.Excluded), r.Omitted.Exclusions, runprogress.MaxExclusions)
	}
	if !strings.HasSuffix(r.Text(), "excluded: 9 more\n") {
		t.Errorf("text ends %q", r.Text()[len(r.Text())-60:])
	}
}

func mustEncode(t *testing.T, facts ...evidence.Fact) []byte {
	t.Helper()
	encoded, err := evidence.EncodeFacts(facts)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}
