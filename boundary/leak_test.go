package boundary_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// probe is a bench with all that is written about its calls, at every level and
// in every encoding.
type probe struct {
	*bench
	lines  *observer.ObservedLogs
	log    textLog
	mu     sync.Mutex
	events []boundary.Event
}

// textLog is a log file. It is safe for concurrent use, since a body that was
// left behind still reports.
type textLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *textLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *textLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newProbe starts a probe on a fresh fake store. change may be nil.
func newProbe(t *testing.T, spec boundary.RunSpec, change func(*boundary.Config)) *probe {
	t.Helper()
	p := &probe{}
	core, lines := observer.New(zapcore.DebugLevel)
	p.lines = lines
	encoding := zap.NewProductionEncoderConfig()
	config := boundary.Config{
		Effects:  anyEffect(),
		Observer: boundary.ObserverFunc(p.observe),
		Logger: zap.New(zapcore.NewTee(core,
			zapcore.NewCore(zapcore.NewJSONEncoder(encoding), zapcore.AddSync(&p.log), zapcore.DebugLevel),
			zapcore.NewCore(zapcore.NewConsoleEncoder(encoding), zapcore.AddSync(&p.log), zapcore.DebugLevel))),
	}
	if change != nil {
		change(&config)
	}
	p.bench = process(t, fakeBackend().start(t), config)
	p.run = p.open(spec)
	return p
}

func (p *probe) observe(_ context.Context, e boundary.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
}

// told is every event so far; Shutdown before it waits for the backlog.
func (p *probe) told() []boundary.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

// spellings are the forms in which printing and encoding may show a text.
func spellings(text string) map[string]string {
	code := hex.EncodeToString([]byte(text))
	forms := map[string]string{
		"as it is": text, "hex": code, "HEX": strings.ToUpper(code),
		"spaced hex": fmt.Sprintf("% x", text), "decimal": strings.Trim(fmt.Sprint([]byte(text)), "[]"),
		"Go bytes": strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(text)), "[]byte{"), "}"),
	}
	for shift := range 3 { // base64 depends on where in a group the text begins
		inner := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + text))
		forms[fmt.Sprintf("base64+%d", shift)] = inner[4 : len(inner)-4]
	}
	return forms
}

// wantSilent fails for each face that shows secret in any spelling.
func wantSilent(t *testing.T, faces map[string]string, secret string) {
	t.Helper()
	forms := spellings(secret)
	for face, text := range faces {
		for form, spelled := range forms {
			if at := strings.Index(text, spelled); at >= 0 {
				t.Errorf("%s shows the marker, %s: ...%s...", face, form, text[max(0, at-60):min(len(text), at+80)])
			}
		}
	}
}

// printed adds every usual way to print or encode a value.
func printed(faces map[string]string, name string, value any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t"} {
		faces[name+" "+verb] = fmt.Sprintf(verb, value)
		faces[name+" in a struct "+verb] = fmt.Sprintf(verb, struct{ Inner any }{value})
		faces[name+" in a list "+verb] = fmt.Sprintf(verb, []any{value})
	}
	if text, err := stdjson.Marshal(value); err == nil {
		faces[name+" json"] = string(text)
	}
	if text, err := json.Marshal(value); err == nil {
		faces[name+" strict json"] = string(text)
	}
	var log bytes.Buffer
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewDevelopmentEncoderConfig()), zapcore.AddSync(&log), zapcore.DebugLevel)
	z := zap.New(core)
	z.Debug("m", zap.Any("value", value), zap.Reflect("again", value))
	z.Sugar().Debugw("m", "value", value)
	z.Sugar().Debugf("%+v", value)
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "value", value)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "value", value)
	if err, ok := value.(error); ok {
		z.Error("m", zap.Error(err), zap.NamedError("e", err), zap.Errors("es", []error{err}))
		faces[name+" Error"] = err.Error()
		faces[name+" joined"] = errors.Join(io.EOF, err).Error()
		faces[name+" wrapped"] = fmt.Sprintf("%+v", fmt.Errorf("in a host: %w", err))
	}
	faces[name+" logs"] = log.String()
}

// faces are all texts that anybody gets to see of a call: c1 of the probe.
func (p *probe) faces(r boundary.Result) map[string]string {
	faces := map[string]string{"Outcome.Text": r.Outcome.Text()}
	printed(faces, "Outcome", r.Outcome)
	printed(faces, "*Outcome", &r.Outcome)
	printed(faces, "Result", r)
	printed(faces, "*Result", &r)
	if r.Err != nil {
		printed(faces, "Result.Err", r.Err)
	}
	ctx := context.Background()
	again, err := p.run.Lookup(ctx, named("c1"))
	printed(faces, "Lookup", again)
	faces["Lookup text"] = again.Text()
	printed(faces, "Lookup error", err)
	report, err := p.run.Facts(ctx)
	faces["Facts text"] = report.Text()
	printed(faces, "Facts", report)
	printed(faces, "Facts error", err)
	printed(faces, "Run", p.run)
	printed(faces, "Shutdown error", p.Shutdown(ctx))
	printed(faces, "boundary", p.ToolBoundary)
	for _, kept := range p.taken() {
		printed(faces, "Retained", kept)
	}
	for _, event := range p.told() {
		printed(faces, "Event", event)
	}
	faces["log file"] = p.log.String()
	faces["log entries"] = fmt.Sprintf("%+v", p.lines.All())
	return faces
}

// The rows are in leak_rows_test.go. This test takes what must be shown from the
// code table: every code with every execution that it may be reported with, with
// and without a record.
func TestCodes(t *testing.T) {
	t.Parallel()
	covered := map[reported]bool{}
	for _, row := range leakRows() {
		covered[row.reported] = true
	}
	for _, code := range lifecycle.Codes() {
		info, _ := code.Info()
		var pairs []reported
		for _, x := range info.Refused {
			pairs = append(pairs, reported{code, x, false})
		}
		for _, x := range info.Recorded {
			pairs = append(pairs, reported{code, x, true})
		}
		for _, pair := range pairs {
			if covered[pair] == reserved[code] {
				t.Errorf("%+v: produced %t, reserved %t; want exactly one of the two", pair, covered[pair], reserved[code])
			}
			delete(covered, pair)
		}
	}
	for pair := range covered {
		t.Errorf("a row produces %+v, which the code table does not have", pair)
	}
	t.Run("fake", func(t *testing.T) { // the store that the rows of docs/scenarios.md ask for
		for _, row := range leakRows() {
			t.Run(fmt.Sprintf("%sT60_P49_%s_%s", row.proves, row.code, row.name), func(t *testing.T) {
				t.Parallel()
				row.check(t)
			})
		}
	})
}

// check produces one row and compares outcome, record, the tool's own count and
// every face with what the code table says.
func (row leakRow) check(t *testing.T) {
	p := newProbe(t, row.spec, row.config)
	got, entered := row.produce(p)
	if row.looked { // an outcome that only Lookup gives
		if got.Outcome.Code() != row.code || got.Outcome.Execution() != row.ran {
			t.Fatalf("outcome %v, want %s, ran: %s", got.Outcome, row.code, row.ran.Ran())
		}
	} else {
		wantFailed(t, got, row.code, row.ran)
		p.wantLastEvent(t, row)
	}
	info, _ := row.code.Info()
	want := fmt.Sprintf(`{"error":{"code":%q,"message":%q,"ran":%q}}`, row.code, info.Message, row.ran.Ran())
	if got.Outcome.Text() != want {
		t.Errorf("text %s, want the table's: %s", got.Outcome.Text(), want)
	}
	switch entries := entered.entries(); {
	case row.ran == lifecycle.NotStarted && entries != 0, row.ran == lifecycle.Completed && entries != 1, entries > 1:
		t.Errorf("ran: %s, but the body was entered %d times", row.ran.Ran(), entries)
	}
	rec, err := p.deck.Record(t.Context(), p.run.Key(), named("c1"))
	if recorded := err == nil && rec.Code == row.code; recorded != row.recorded {
		t.Errorf("record %v of state %q, code %q: recorded %t, want %t", err, rec.State, rec.Code, recorded, row.recorded)
	}
	faces := p.faces(got)
	wantSilent(t, faces, marker)
	wantSilent(t, faces, string(p.run.Ticket().Token))
	for face, text := range faces {
		for _, word := range []string{"postgres://", "db.internal", "fakes: ", "goroutine ", "panic:", ".go:"} {
			if strings.Contains(text, word) {
				t.Errorf("%s has %q: %.300s", face, word, text)
			}
		}
	}
	p.wantMet()
}

// wantLastEvent checks that the last call that was reported is this one.
func (p *probe) wantLastEvent(t *testing.T, row leakRow) {
	t.Helper()
	_ = p.Shutdown(t.Context()) // waits for the observer
	events := slices.DeleteFunc(p.told(), func(e boundary.Event) bool { return e.Kind == boundary.EventRetained })
	if len(events) == 0 {
		t.Fatal("no event")
	}
	last := events[len(events)-1]
	if last.Code != row.code || last.Execution != row.ran || last.Evidence != evidence.Failed {
		t.Errorf("last event %+v, want %s, ran: %s", last, row.code, row.ran.Ran())
	}
	if calls := p.lines.Len() - p.lines.FilterMessage("tool call retained").Len(); calls != len(events) {
		t.Errorf("%d log lines on calls, want one for each of %d events", calls, len(events))
	}
}

func TestLeak_ready(t *testing.T) {
	t.Parallel()
	const served = "served-9e41aa"
	t.Run("P49_P50_T63_what_the_projector_served_is_in_the_text_alone", func(t *testing.T) {
		t.Parallel()
		p := newProbe(t, boundary.RunSpec{}, nil)
		env := p.envelope("c1")
		env.Input = []byte(secretArgs)
		shows := projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: []byte("found " + served), Status: evidence.Found}, nil
		})
		got := p.Invoke(t.Context(), p.run, env, boundary.Action{Executor: says(marker), Projector: shows})
		wantReady(t, got, "found "+served)
		faces := p.faces(got)
		wantSilent(t, faces, marker)
		for _, text := range []string{"Outcome.Text", "Lookup text"} {
			if faces[text] != "found "+served {
				t.Errorf("%s is %q, want what the projector served", text, faces[text])
			}
			delete(faces, text)
		}
		wantSilent(t, faces, served)
	})
}

// Not only calls talk to the store: so does everything that a host asks of a run.
func TestLeak_what_a_host_asks(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"driver":                       driverError(),
		"a no behind a driver's words": fmt.Errorf("%s: %w", dsn, &canonical.RefusedError{Op: "test", Err: canonical.ErrForeign}),
	} {
		t.Run("T60_"+name, func(t *testing.T) {
			t.Parallel()
			p := newProbe(t, boundary.RunSpec{}, nil)
			p.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
			p.invoke(leaking())
			kept := p.taken()
			for _, m := range fakes.Methods() {
				p.faulty.Answer(m, fakes.Every, answer)
			}
			faces := map[string]string{}
			for question, err := range p.everything(kept[0]) {
				if _, ok := errors.AsType[*boundary.Error](err); !ok {
					t.Errorf("%s: %v, want a *boundary.Error", question, err)
				}
				printed(faces, question, err)
			}
			printed(faces, "Shutdown", p.Shutdown(t.Context()))
			wantSilent(t, faces, marker)
			wantSilent(t, faces, "postgres://")
		})
	}
}

// everything is what a host can ask, with the errors that it gets.
func (p *probe) everything(kept boundary.Retained) map[string]error {
	ctx := p.t.Context()
	errs := map[string]error{}
	_, errs["Lookup"] = p.run.Lookup(ctx, named("c1"))
	_, errs["Lookup of no name"] = p.run.Lookup(ctx, named(marker+" "))
	_, errs["Facts"] = p.run.Facts(ctx)
	_, errs["Outstanding"] = p.run.Outstanding(ctx)
	_, errs["Unresolved"] = p.run.Unresolved(ctx)
	_, errs["Sweep"] = p.run.Sweep(ctx, 0)
	errs["Resolve"] = p.run.Resolve(ctx, named("c1"), canonical.Applied, marker)
	errs["Resolve nonsense"] = p.run.Resolve(ctx, named(marker+" "), canonical.EffectVerdict(marker), "")
	errs["Settle"] = p.Settle(ctx, kept)
	errs["Settle nothing"] = p.Settle(ctx, boundary.Retained{Tool: marker, Raw: canonical.NewRaw([]byte(marker))})
	errs["Close"] = p.run.Close(ctx)
	_, errs["JoinRun"] = p.JoinRun(ctx, p.run.Ticket())
	_, errs["JoinRun of nonsense"] = p.JoinRun(ctx, boundary.RunTicket{Run: canonical.RunKey{Run: marker + " "}, Token: marker})
	_, errs["OpenRun"] = p.OpenRun(ctx, boundary.RunSpec{Scope: testScope()})
	_, errs["OpenRun of nonsense"] = p.OpenRun(ctx, boundary.RunSpec{ID: marker + "\n", Scope: canonical.Scope{Tenant: marker + "\xff"}})
	_, errs["OpenRun of too many"] = p.OpenRun(ctx, boundary.RunSpec{Scope: testScope(), Continues: []canonical.RunID{marker + " "}})
	return errs
}

// A marker that the search could not find would prove nothing.
func TestWantSilent_sees_every_spelling(t *testing.T) {
	t.Parallel()
	body := []byte("x" + marker + "y")
	for name, text := range map[string]string{
		"plain": string(body), "hex": fmt.Sprintf("%x", body), "HEX": fmt.Sprintf("%X", body), "spaced": fmt.Sprintf("% x", body),
		"bytes": fmt.Sprint(body), "Go bytes": fmt.Sprintf("%#v", body), "json": string(must(stdjson.Marshal(string(body)))),
		"base64": string(must(stdjson.Marshal(body))), "base64 behind one": string(must(stdjson.Marshal(append([]byte("a"), body...)))),
		"base64 behind two": string(must(stdjson.Marshal(append([]byte("ab"), body...)))),
	} {
		found := false
		for _, form := range spellings(marker) {
			found = found || strings.Contains(text, form)
		}
		if !found {
			t.Errorf("%s: the marker is not found in %s", name, text)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// T63: what a host prints of a record, and of the messages about it, has sizes
// for bodies and placeholders for secrets.
func TestLeak_records(t *testing.T) {
	t.Parallel()
	t.Run("T63_records_and_messages_print_sizes", func(t *testing.T) {
		t.Parallel()
		body := canonical.Body(marker)
		inside := struct{ Body canonical.Body }{body}
		head := canonical.Head{State: lifecycle.Ready, Facts: body, Coverage: body}
		view := canonical.View{Head: head, Agent: body}
		raw := canonical.NewRaw([]byte(marker))
		late := canonical.LateResult{Raw: raw, Agent: body}
		faces := map[string]string{}
		for _, value := range []any{
			inside, raw, head, view, late, canonical.Record{View: view, Request: body, Raw: raw}, canonical.Admission{Request: body, Claim: marker},
			canonical.Saving{Raw: raw, Claim: marker}, canonical.Opening{Token: marker},
			canonical.Ending{Raw: raw, Agent: body, Facts: body, Coverage: body, Claim: marker},
			boundary.Envelope{Input: body}, boundary.Call{Arguments: body}, boundary.Input{Arguments: body},
			boundary.AuthorizationRequest{Arguments: body}, boundary.RunTicket{Token: marker},
			boundary.Retained{Raw: raw}, &boundary.ShutdownError{Retained: []boundary.Retained{{Raw: raw}}},
		} {
			printed(faces, fmt.Sprintf("%T", value), value)
		}
		wantSilent(t, faces, marker)
	})
}
