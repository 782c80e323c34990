package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func TestRun(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"P14_a_run_that_is_there", runThatIsThere},
		{"P15_closed_elsewhere", closedElsewhere},
		{"P17_a_clock_that_is_hours_off", clockHoursOff},
		{"P18_longer_than_its_records", longerThanRecords},
		{"P45_joined_from_its_ticket", joinedFromTicket},
		{"P45_a_wrong_ticket", wrongTicket},
		{"closing_while_calls_are_made", closingUnderLoad},
	})
}

func TestRun_faults(t *testing.T) {
	onFake(t, []scenario{
		{"P16_a_ledger_that_was_put_back", ledgerPutBack},
		{"answers_about_a_run_are_lost", openReplyLost},
		{"a_store_that_is_down", runStoreDown},
		{"what_a_spec_may_not_say", badSpecs},
		{"a_run_id_is_made", runIDIsMade},
		{"a_newer_version", newerVersion},
	})
}

// wantRunError checks an error about a run.
func wantRunError(t *testing.T, err error, code lifecycle.Code, cause error) *boundary.Error {
	t.Helper()
	host, ok := errors.AsType[*boundary.Error](err)
	if !ok || host.Code != code || cause != nil && !errors.Is(err, cause) {
		t.Fatalf("error %v, want %s with %v in it", err, code, cause)
	}
	return host
}

func runThatIsThere(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: boundary.RunSpec{ID: "r1"}})
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	for range 2 { // each opening makes a token of its own
		_, err := b.OpenRun(t.Context(), boundary.RunSpec{ID: "r1", Scope: testScope()})
		host := wantRunError(t, err, lifecycle.RunInactive, canonical.ErrRunTaken)
		if host.Identity.Run != "r1" || host.Execution != lifecycle.NotStarted {
			t.Errorf("error about %+v, ran %s", host.Identity, host.Execution)
		}
	}
	wantReady(t, b.read("b", says("ok")), "seen: ok")
}

// spying is a store that tells what a close was answered.
type spying struct {
	canonical.Store
	closed []canonical.ClosedRun
}

// CloseRun implements [canonical.Runs].
func (s *spying) CloseRun(ctx context.Context, c canonical.Closing) (canonical.ClosedRun, error) {
	closed, err := s.Store.CloseRun(ctx, c)
	s.closed = append(s.closed, closed)
	return closed, err
}

func closedElsewhere(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	read, write := holds(t, "read"), holds(t, "written")
	reads := b.async(t.Context(), b.envelope("r"), reading(read))
	<-read.in
	writes := b.async(t.Context(), b.writeEnvelope("w"), writing(write))
	<-write.in
	spy := &spying{Store: d.Store}
	other := b.joined(boundary.Config{Store: spy})
	for range 2 { // closing twice is fine
		if err := other.run.Close(t.Context()); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	for _, closed := range spy.closed {
		open := slices.Clone(closed.Open)
		slices.SortFunc(open, func(a, b canonical.CallName) int { return strings.Compare(a.String(), b.String()) })
		if !slices.Equal(open, []canonical.CallName{named("r"), named("w")}) || len(closed.Unresolved) != 1 || closed.LastSeq != 2 {
			t.Errorf("close answered %+v, want two open calls, one effect, sequence 2", closed)
		}
	}
	late := says("no")
	wantFailed(t, b.read("c", late), lifecycle.RunInactive, lifecycle.NotStarted)
	wantFailed(t, other.read("c", late), lifecycle.RunInactive, lifecycle.NotStarted)
	wantEntered(t, late, 0)
	read.release()
	write.release()
	wantReady(t, <-reads, "seen: read")
	wantReady(t, <-writes, "seen: written")
	for _, id := range []string{"r", "w"} {
		if rec := b.record(id); rec.State != lifecycle.Ready {
			t.Errorf("%s is %s, want READY", id, rec.State)
		}
	}
	report, err := b.run.Facts(t.Context())
	if err != nil || !report.Complete || report.Totals.Ready != 2 {
		t.Errorf("report %+v, %v, want it complete with both calls", report.Totals, err)
	}
}

func clockHoursOff(t *testing.T, d *deck) {
	var processes []*bench
	for _, off := range []time.Duration{-2 * time.Hour, 2 * time.Hour, -24 * 365 * time.Hour} {
		config := boundary.Config{Now: func() time.Time { return d.now().Add(off) }}
		b := newBench(t, d, setup{config: config, spec: boundary.RunSpec{MaxDuration: d.soon}})
		right := b.joined(boundary.Config{})
		wantReady(t, b.read("a", says("ok")), "seen: ok")
		wantFailed(t, right.read("a", says("ok")), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
		wantReady(t, right.read("b", says("ok")), "seen: ok")
		wrong, exact := b.record("a"), right.record("b")
		for _, gap := range []time.Duration{exact.Created.Sub(wrong.Created), exact.Expires.Sub(wrong.Expires)} {
			if gap < 0 || gap > d.soon {
				t.Errorf("clock off by %v: times of two records are %v apart, want no more than passed between them", off, gap)
			}
		}
		if !exact.Due.Equal(wrong.Due) { // both are bounded by the run's deadline
			t.Errorf("clock off by %v: calls are due at %v and %v, want one time", off, wrong.Due, exact.Due)
		}
		processes = append(processes, b, right)
	}
	d.advance(t, d.soon)
	for _, p := range processes {
		tool := says("no")
		wantFailed(t, p.read("c", tool), lifecycle.RunDeadlineExceeded, lifecycle.NotStarted)
		wantEntered(t, tool, 0)
	}
}

func longerThanRecords(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	limits := canonical.DefaultLimits()
	before := d.keys(t)
	_, err := b.OpenRun(t.Context(), boundary.RunSpec{ID: "long", Scope: testScope(), MaxDuration: limits.MaxDuration() + time.Millisecond})
	wantRunError(t, err, lifecycle.RunInactive, canonical.ErrRunTooLong)
	most := limits.MaxDuration().Milliseconds()
	if no, ok := errors.AsType[*canonical.RefusedError](err); !ok || no.Wanted != most+1 || no.Limit != most {
		t.Errorf("error %v, want the numbers %d and %d", err, most+1, most)
	}
	if text := err.Error(); !strings.Contains(text, fmt.Sprint(most+1)) || !strings.Contains(text, fmt.Sprint(most)) {
		t.Errorf("the text %q lacks the numbers", text)
	}
	if after := d.keys(t); !slices.Equal(after, before) {
		t.Errorf("keys %v, want %v", after, before)
	}
	b.open(boundary.RunSpec{ID: "longest", MaxDuration: limits.MaxDuration()})
}

func joinedFromTicket(t *testing.T, d *deck) {
	b := newBench(t, d, setup{
		config: boundary.Config{Limits: canonical.Limits{RawBytes: 10}},
		spec: boundary.RunSpec{
			Scope:  canonical.Scope{Tenant: "a.b\x1fc", Owner: "ö \n{}", Namespace: ""},
			Budget: canonical.Budget{Calls: 3}, Principal: canonical.Principal{User: "u1"},
		},
	})
	ticket, err := boundary.ParseRunTicket(b.run.Ticket().Reveal())
	if err != nil {
		t.Fatalf("ParseRunTicket: %v", err)
	}
	other := process(t, d, boundary.Config{})
	if other.run, err = other.JoinRun(t.Context(), ticket); err != nil {
		t.Fatalf("JoinRun: %v", err)
	}
	if other.run.Key() != b.run.Key() {
		t.Fatalf("joined %+v, want %+v", other.run.Key(), b.run.Key())
	}
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	wantFailed(t, other.read("a", says("ok")), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
	wantFailed(t, other.read("b", says("more than ten")), lifecycle.ResultTooLarge, lifecycle.Completed) // the run's limits
	if rec := other.record("b"); rec.Principal.User != "u1" {
		t.Errorf("principal %+v, want the run's", rec.Principal)
	}
	wantReady(t, other.read("c", says("ok")), "seen: ok")
	wantFailed(t, b.read("d", says("ok")), lifecycle.RunBudgetExhausted, lifecycle.NotStarted)
	wantFailed(t, other.read("d", says("ok")), lifecycle.RunBudgetExhausted, lifecycle.NotStarted)
	mine, err := b.run.Facts(t.Context())
	if err != nil || len(mine.Facts) != 2 || mine.Totals.Calls != 3 {
		t.Errorf("report %+v, %v, want both processes' calls", mine, err)
	}
}

func wrongTicket(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for name, c := range map[string]struct {
		change func(*boundary.RunTicket)
		code   lifecycle.Code
		cause  error
	}{
		"token":      {func(r *boundary.RunTicket) { r.Token = "0" + r.Token[1:] + "0" }, lifecycle.RunInactive, canonical.ErrRunTaken},
		"no token":   {func(r *boundary.RunTicket) { r.Token = "" }, lifecycle.RunInactive, canonical.ErrRunTaken},
		"run":        {func(r *boundary.RunTicket) { r.Run.Run = "elsewhere" }, lifecycle.RunInactive, canonical.ErrRunMissing},
		"scope":      {func(r *boundary.RunTicket) { r.Run.Scope.Tenant = "other" }, lifecycle.RunInactive, canonical.ErrRunMissing},
		"bad run id": {func(r *boundary.RunTicket) { r.Run.Run = "{}" }, lifecycle.InvalidInput, nil},
		"zero":       {func(r *boundary.RunTicket) { *r = boundary.RunTicket{} }, lifecycle.InvalidInput, nil},
	} {
		ticket := b.run.Ticket()
		c.change(&ticket)
		run, err := b.JoinRun(t.Context(), ticket)
		if run != nil {
			t.Errorf("%s: joined %v", name, run)
		}
		wantRunError(t, err, c.code, c.cause)
		if strings.Contains(err.Error(), string(b.run.Ticket().Token)) {
			t.Errorf("%s: the error shows the token", name)
		}
	}
}

func TestRunTicket(t *testing.T) {
	t.Parallel()
	for _, scope := range []canonical.Scope{
		{Tenant: "acme"}, {Owner: "\x1f"}, {Tenant: "a\x1fb", Owner: "c", Namespace: "d"}, {Tenant: "a", Owner: "b\x1fc", Namespace: "d"},
		{Tenant: ".", Owner: "..", Namespace: "\x00\n"}, {Tenant: strings.Repeat("é", 128), Namespace: "🦖"},
	} {
		ticket := boundary.RunTicket{Run: canonical.RunKey{Scope: scope, Run: "r.1_-"}, Token: "5eca3"}
		text := ticket.Reveal()
		if got, err := boundary.ParseRunTicket(text); err != nil || got != ticket {
			t.Errorf("%q is read back as %+v, %v, want %+v", text, got.Run, err, ticket.Run)
		}
		encoded, err := json.Marshal(ticket)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{fmt.Sprintf("%v %+v %#v %s", ticket, ticket, &ticket, ticket), string(encoded)} {
			if strings.Contains(form, "5eca3") {
				t.Errorf("the token is shown in %s", form)
			}
		}
	}
	good := boundary.RunTicket{Run: canonical.RunKey{Scope: testScope(), Run: "r1"}, Token: "5eca3"}.Reveal()
	for _, text := range []string{
		"", "1", ".....", good + ".", good + ".AA", "2" + good[1:], good[2:], good + "=", good[:len(good)-1] + "!",
		strings.Replace(good, "NWVjYTM", "", 1), // without its token
		boundary.RunTicket{Run: canonical.RunKey{Run: "r1"}, Token: "5eca3"}.Reveal(),
		boundary.RunTicket{Run: canonical.RunKey{Scope: testScope(), Run: "r 1"}, Token: "5eca3"}.Reveal(),
		boundary.RunTicket{Run: canonical.RunKey{Scope: canonical.Scope{Tenant: "\xff"}, Run: "r1"}, Token: "5eca3"}.Reveal(),
	} {
		got, err := boundary.ParseRunTicket(text)
		if err == nil || got != (boundary.RunTicket{}) {
			t.Errorf("%q is read as %+v, want an error and nothing", text, got.Run)
			continue
		}
		if strings.Contains(err.Error(), "NWVjYTM") || strings.Contains(err.Error(), "5eca3") {
			t.Errorf("the error %v shows the token", err)
		}
	}
}

// closingUnderLoad closes a run from one process while two make calls in it.
// Each call either ran and is READY, or was refused and left nothing.
func closingUnderLoad(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget()})
	other := b.joined(boundary.Config{})
	tool := says("ok")
	var mu sync.Mutex
	ready := map[string]bool{}
	var wave sync.WaitGroup
	for i := range 24 {
		p := []*bench{b, other}[i%2]
		wave.Go(func() {
			id := fmt.Sprint("call_", i)
			got := p.Invoke(context.WithoutCancel(t.Context()), p.run, p.envelope(id), reading(tool))
			if got.Err != nil && got.Outcome.Code() != lifecycle.RunInactive {
				t.Errorf("%s: %v, want READY or RUN_INACTIVE", id, got.Err)
			}
			mu.Lock()
			defer mu.Unlock()
			ready[id] = got.Err == nil
		})
		if i == 12 {
			wave.Go(func() {
				if err := other.run.Close(context.WithoutCancel(t.Context())); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
	}
	wave.Wait()
	count := int64(0)
	for id, yes := range ready {
		if yes {
			count++
			continue
		}
		if _, err := d.Record(t.Context(), b.run.Key(), named(id)); !errors.Is(err, canonical.ErrMissing) {
			t.Errorf("the refused %s has a record: %v", id, err)
		}
	}
	wantEntered(t, tool, count)
	if out, err := b.run.Outstanding(t.Context()); err != nil || len(out.Open) != 0 {
		t.Errorf("outstanding %+v, %v, want nothing", out, err)
	}
	report, err := b.run.Facts(t.Context())
	if err != nil || int64(report.Totals.Ready) != count || !report.Complete {
		t.Errorf("report %+v, %v, want %d ready and complete", report.Totals, err, count)
	}
}

func ledgerPutBack(t *testing.T, d *deck) {
	store := d.Store.(*fakes.Store)
	b := newBench(t, d, setup{})
	old, ok := store.SnapshotLedger(b.run.Key())
	if !ok {
		t.Fatal("no ledger")
	}
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	if !store.RestoreLedger(old) {
		t.Fatal("the run is gone")
	}
	tool := says("no")
	failed := wantFailed(t, b.read("b", tool), lifecycle.RunInactive, lifecycle.NotStarted)
	if !errors.Is(failed, canonical.ErrRunDamaged) {
		t.Errorf("error %v, want ErrRunDamaged", failed)
	}
	other := b.joined(boundary.Config{}) // who has seen nothing is told by the mark
	wantFailed(t, other.read("b", tool), lifecycle.RunInactive, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	if o, err := b.run.Lookup(t.Context(), named("a")); err != nil || o.Text() != "seen: ok" {
		t.Errorf("lookup %v, %v, want what was stored", o, err)
	}
	if err := b.run.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func openReplyLost(t *testing.T, d *deck) {
	b := process(t, d, boundary.Config{})
	for _, fault := range []fakes.Fault{fakes.FailAfter, fakes.Twice, fakes.FailBefore} {
		b.faulty.Script(fakes.MethodOpenRun, b.faulty.Calls(fakes.MethodOpenRun)+1, fault)
		b.run = b.open(boundary.RunSpec{})
		b.faulty.Script(fakes.MethodJoinRun, b.faulty.Calls(fakes.MethodJoinRun)+1, fault)
		joined, err := b.JoinRun(t.Context(), b.run.Ticket())
		if err != nil || joined.Key() != b.run.Key() {
			t.Fatalf("%s: JoinRun: %v", fault, err)
		}
		wantReady(t, b.read("a", says("ok")), "seen: ok")
		b.faulty.Script(fakes.MethodCloseRun, b.faulty.Calls(fakes.MethodCloseRun)+1, fault)
		if err := b.run.Close(t.Context()); err != nil {
			t.Errorf("%s: Close: %v", fault, err)
		}
		if phase := b.state().Phase; phase != canonical.RunClosed {
			t.Errorf("%s: the run is %s, want closed", fault, phase)
		}
	}
	b.wantMet()
}

func runStoreDown(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for _, m := range []fakes.Method{fakes.MethodOpenRun, fakes.MethodJoinRun, fakes.MethodCloseRun} {
		b.faulty.Script(m, fakes.Every, fakes.FailBefore)
	}
	_, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: testScope()})
	errs := []error{err}
	_, err = b.JoinRun(t.Context(), b.run.Ticket())
	errs = append(errs, err, b.run.Close(t.Context()))
	for _, err := range errs {
		wantRunError(t, err, lifecycle.StoreUnavailable, nil)
		if _, ok := errors.AsType[*fakes.FaultError](err); !ok || strings.Contains(err.Error(), marker) {
			t.Errorf("error %v, want the store's within reach and not in the text", err)
		}
	}
	wantFailed(t, b.read("a", says("ok")), lifecycle.RunInactive, lifecycle.NotStarted) // closed here, as asked
	if phase := b.state().Phase; phase != canonical.RunOpen {
		t.Errorf("the run is %s, want open", phase)
	}
	b.faulty.Heal(fakes.MethodCloseRun)
	if err := b.run.Close(t.Context()); err != nil {
		t.Errorf("Close again: %v", err)
	}
	if phase := b.state().Phase; phase != canonical.RunClosed {
		t.Errorf("the run is %s, want closed", phase)
	}
	b.faulty.Heal(fakes.MethodOpenRun)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.OpenRun(gone, boundary.RunSpec{Scope: testScope()})
	wantRunError(t, err, lifecycle.StoreUnavailable, context.Canceled)
}

func badSpecs(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	asked := b.faulty.Calls(fakes.MethodOpenRun)
	for field, spec := range map[string]boundary.RunSpec{
		"scope":          {},
		"scope.tenant":   {Scope: canonical.Scope{Tenant: strings.Repeat("x", 257)}},
		"scope.owner":    {Scope: canonical.Scope{Owner: "\xff"}},
		"run_id":         {ID: "a b", Scope: testScope()},
		"principal.user": {Principal: canonical.Principal{User: "\xff"}, Scope: testScope()},
		"negative":       {Budget: canonical.Budget{Calls: -2}, Scope: testScope()},
		"budget.calls":   {Budget: canonical.Budget{Calls: 1 << 40, Bytes: 1}, Scope: testScope()},
		"continues":      {Continues: make([]canonical.RunID, 65), Scope: testScope()},
		"duration":       {MaxDuration: time.Microsecond, Scope: testScope()},
	} {
		_, err := b.OpenRun(t.Context(), spec)
		host := wantRunError(t, err, lifecycle.InvalidInput, nil)
		if host.Execution != lifecycle.NotStarted || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: the error %q does not name the field", field, err)
		}
	}
	if n := b.faulty.Calls(fakes.MethodOpenRun); n != asked {
		t.Errorf("the store was asked %d times, want none", n-asked)
	}
	unlimited := canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
	b.run = b.open(boundary.RunSpec{Budget: unlimited})
	for i := range 20 {
		wantReady(t, b.read(fmt.Sprint("call_", i), says("ok")), "seen: ok")
	}
	b.run = b.open(boundary.RunSpec{})
	if got := b.state().Budget; got.Calls != 16 || got.PerTool != 8 {
		t.Errorf("budget %+v, want 16 calls and 8 a tool", got)
	}
	if left := b.state().Left; left != boundary.DefaultMaxDuration {
		t.Errorf("%v left, want %v", left, boundary.DefaultMaxDuration)
	}
}

func runIDIsMade(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	other := b.open(boundary.RunSpec{})
	for _, run := range []*boundary.Run{b.run, other} {
		id, err := uuid.Parse(string(run.ID()))
		if err != nil || id.Version() != 7 {
			t.Errorf("run id %q, want a UUIDv7", run.ID())
		}
	}
	if other.ID() == b.run.ID() {
		t.Error("two runs have one id")
	}
	if text := fmt.Sprintf("%v %+v %#v", b.run, b.run, b.run); strings.Contains(text, string(b.run.Ticket().Token)) || !strings.Contains(text, string(b.run.ID())) {
		t.Errorf("a run prints as %s, want its id and no token", text)
	}
}

func newerVersion(t *testing.T, d *deck) {
	store := d.Store.(*fakes.Store)
	b := newBench(t, d, setup{})
	wantReady(t, b.read("a", says("ok")), "seen: ok")
	if !store.SetLedgerVersion(b.run.Key(), canonical.SchemaVersion+1) {
		t.Fatal("no ledger")
	}
	tool := says("no")
	failed := wantFailed(t, b.read("b", tool), lifecycle.StoreUnavailable, lifecycle.NotStarted)
	if !errors.Is(failed, canonical.ErrNewerVersion) {
		t.Errorf("error %v, want ErrNewerVersion", failed)
	}
	wantEntered(t, tool, 0)
	_, err := b.JoinRun(t.Context(), b.run.Ticket())
	wantRunError(t, err, lifecycle.StoreUnavailable, canonical.ErrNewerVersion)
}
