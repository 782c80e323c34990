package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
	"github.com/toolharness/harness/retrieval"
	"github.com/toolharness/harness/retrieval/tools"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// go-redis asks once a second whether a server that refused it is back, and
		// sees only at the next question that its pool was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
	)
}

type deck struct {
	canonical.Store
	now func() time.Time
}

var backends = map[string]func(*testing.T) deck{
	"fake": func(*testing.T) deck {
		clock := fakes.NewClock()
		return deck{fakes.NewStore(clock), clock.Now}
	},
	"embedded": func(t *testing.T) deck {
		server, err := embedded.StartWith(embedded.Options{Frozen: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		return deck{server.Store(), server.Now}
	},
	"redis": func(t *testing.T) deck {
		store, err := redisstore.Dial(t.Context(), redistest.Shared(t).URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return deck{store, time.Now}
	},
}

// host is a loop whose toolset has the reading tools beside one of its own.
type host struct {
	t      *testing.T
	b      *boundary.ToolBoundary
	set    *boundary.Toolset
	reader *retrieval.Reader
	run    *boundary.Run
	next   int
}

type setup struct {
	run   canonical.RunID // empty: run-1
	agent int64           // the model's limit; zero: default
	whole bool
	codes bool
}

func newHost(t *testing.T, d deck, s setup) *host {
	t.Helper()
	reader, err := retrieval.New(retrieval.Config{Scope: canonical.Scope{Owner: "the host"}, Store: d.Store})
	if err != nil {
		t.Fatal(err)
	}
	config := boundary.Config{Store: d.Store, Authorizer: boundary.AllowAll{}, Now: d.now, Limits: canonical.Limits{AgentBytes: s.agent}}
	if s.codes {
		config.Codes = tools.Codes()
	}
	h := &host{t: t, reader: reader}
	if h.b, err = boundary.New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = h.b.Shutdown(ctx)
	})
	reading, err := tools.New(tools.Config{Reader: reader, WholeScope: s.whole})
	if err != nil {
		t.Fatal(err)
	}
	if h.set, err = boundary.NewToolset(h.b, append(reading, says())...); err != nil {
		t.Fatal(err)
	}
	if s.run == "" {
		s.run = "run-1"
	}
	h.run = h.open(s.run, "acme")
	return h
}

func (h *host) open(id canonical.RunID, tenant string) *boundary.Run {
	h.t.Helper()
	run, err := h.b.OpenRun(h.t.Context(), boundary.RunSpec{
		ID: id, Scope: canonical.Scope{Tenant: tenant}, Budget: boundary.Budget{Calls: 5000, PerTool: 5000, Bytes: boundary.Unlimited},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return run
}

// says is a tool that returns the text it is given, or nothing and an error.
func says() boundary.Tool {
	return boundary.Tool{
		Name: "say", Effect: boundary.EffectRead,
		Executor: boundary.Args(func(_ context.Context, in struct {
			Text *string `json:"text"`
		}, raw io.Writer) error {
			if in.Text == nil {
				return errors.New("nothing to say")
			}
			_, err := io.WriteString(raw, *in.Text)
			return err
		}),
		Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: []byte("said"), Status: evidence.Found}, nil
		}),
	}
}

// call makes one call through the toolset.
func (h *host) call(run *boundary.Run, tool string, arguments any) boundary.Outcome {
	h.t.Helper()
	text, ok := arguments.(string)
	if !ok {
		encoded, err := json.Marshal(arguments)
		if err != nil {
			h.t.Fatal(err)
		}
		text = string(encoded)
	}
	h.next++
	return h.set.Dispatch(h.t.Context(), run, boundary.Call{
		ID: canonical.ToolCallID(fmt.Sprintf("call-%d", h.next)), Name: tool, Arguments: []byte(text),
	})[0].Outcome
}

// say stores a text and is its reference.
func (h *host) say(run *boundary.Run, text string) evidence.Reference {
	h.t.Helper()
	out := h.call(run, "say", map[string]string{"text": text})
	ref, ok := out.Reference()
	if !ok {
		h.t.Fatalf("say: %v", out)
	}
	return ref
}

type reply struct {
	EvidenceID string `json:"evidence_id"`
	Text       string
	Next       *int64 `json:"next_offset"`
	View       string
	ViewBytes  int64 `json:"view_bytes"`
}

// readAll reads a result as a model does: with what each reply says.
func (h *host) readAll(arguments map[string]any, limit int) (text string, calls int) {
	h.t.Helper()
	for {
		out := h.call(h.run, retrieval.ToolRead, arguments)
		if out.IsError() {
			h.t.Fatalf("evidence_read %v: %s", arguments, out.Text())
		}
		if len(out.Text()) > limit {
			h.t.Fatalf("a reply of %d bytes, the model's limit is %d", len(out.Text()), limit)
		}
		var r reply
		if err := json.Unmarshal([]byte(out.Text()), &r); err != nil {
			h.t.Fatal(err)
		}
		text += r.Text
		if calls++; r.Next == nil {
			if int64(len(text)) != r.ViewBytes {
				h.t.Fatalf("%d bytes were read, the view has %d", len(text), r.ViewBytes)
			}
			return text, calls
		}
		if *r.Next != int64(len(text)) {
			h.t.Fatalf("next_offset %d after %d bytes", *r.Next, len(text))
		}
		arguments["offset"], arguments["view"] = *r.Next, r.View
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	for name, start := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "redis" {
				redistest.Shared(t) // keeps the server running between subtests
			}
			for _, s := range []struct {
				name string
				run  func(*testing.T, deck)
			}{
				{"S128_every_reply_fits_the_limit_after_escaping", fits},
				{"S37_E38_exactly_one_selector", selectors},
				{"S36_arguments_that_are_refused_cost_nothing", arguments},
				{"S41_of_another_scope_or_run_is_missing", foreign},
				{"S42_E42_a_look_up_that_ended_early_is_not_missing", budget},
				{"S11_E18_reading_adds_nothing_to_what_is_listed", uncounted},
				{"E41_pages_that_are_cut_to_the_limit_lose_no_entry", cutPages},
				{"S17_E05_views_alone_reach_the_model", viewsAlone},
			} {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.run(t, start(t))
				})
			}
		})
	}
}

func fits(t *testing.T, d deck) {
	for _, agent := range []int64{400, 16 << 10} {
		h := newHost(t, d, setup{agent: agent, run: canonical.RunID(fmt.Sprint("run-", agent))})
		for what, text := range map[string]string{
			"cjk":     strings.Repeat("日本語", 700),
			"quotes":  strings.Repeat(`"\`, 2500),
			"control": strings.Repeat("\x01\x1f", 1500),
			"mixed":   strings.Repeat("a\"日\u0001😀é<&>\n", 200),
			"short":   "x", "empty": "",
		} {
			ref := h.say(h.run, text)
			for _, limit := range []int{1, 3999, tools.MaxText} {
				if limit == 1 && len(text) > 10 {
					continue // one call for each character
				}
				got, calls := h.readAll(map[string]any{"id": ref.EvidenceID, "limit": limit}, int(agent))
				if got != text {
					t.Errorf("%s in replies of %d within %d: %d bytes in %d calls, want %d", what, limit, agent, len(got), calls, len(text))
				}
			}
		}
		got, _ := h.readAll(map[string]any{"reference": h.say(h.run, "by reference")}, int(agent))
		if got != "by reference" {
			t.Errorf("by reference: %q", got)
		}
	}
}

// refused fails unless a call was refused with a code, and told whether it ran.
func (h *host) refused(what string, out boundary.Outcome, code lifecycle.Code) {
	h.t.Helper()
	if out.Code() != code {
		h.t.Errorf("%s: %q %s, want %s", what, out.Code(), out.Text(), code)
	}
}

func selectors(t *testing.T, d deck) {
	h := newHost(t, d, setup{codes: true})
	ref := h.say(h.run, "x")
	for what, args := range map[string]any{
		"none": "{}", "both": map[string]any{"id": ref.EvidenceID, "reference": ref}, "null": `{"id":null}`,
		"only an offset": `{"offset":0}`, "an empty id": `{"id":""}`, "an id of another form": `{"id":"a b"}`,
	} {
		h.refused(what, h.call(h.run, retrieval.ToolRead, args), lifecycle.InvalidInput)
	}
	state, err := d.Inspect(t.Context(), h.run.Key())
	if err != nil || state.LastSeq != 1 {
		t.Errorf("%d calls were admitted, %v, want the one that says something", state.LastSeq, err)
	}
}

func arguments(t *testing.T, d deck) {
	h := newHost(t, d, setup{codes: true})
	id := h.say(h.run, "ab日").EvidenceID
	view := strings.Repeat("0", 16)
	for _, args := range []string{
		`{"id":"` + id + `","offset":-1}`, `{"id":"` + id + `","offset":1.5,"view":"` + view + `"}`, `{"id":"` + id + `","limit":0}`,
		`{"id":"` + id + `","limit":8001}`, `{"id":"` + id + `","offset":1}`, `{"id":"` + id + `","view":"ABC"}`, `{"id":"` + id + `","tenant":"x"}`,
	} {
		h.refused(args, h.call(h.run, retrieval.ToolRead, args), lifecycle.InvalidInput)
	}
	for _, args := range []string{`{"limit":101}`, `{"limit":0}`, `{"status":"FOUND"}`, `{"run":"a/b"}`, `{"tool":"a b"}`, `{"scope":"x"}`, `{"run":7}`} {
		h.refused(args, h.call(h.run, retrieval.ToolList, args), lifecycle.InvalidInput)
	}
	var r reply
	if err := json.Unmarshal([]byte(h.call(h.run, retrieval.ToolRead, map[string]any{"id": id}).Text()), &r); err != nil {
		t.Fatal(err)
	}
	read := func(offset int, view string) boundary.Outcome {
		return h.call(h.run, retrieval.ToolRead, map[string]any{"id": id, "offset": offset, "view": view})
	}
	h.refused("within a character", read(3, r.View), tools.Selection)
	h.refused("beyond the end", read(6, r.View), tools.Selection)
	h.refused("of another view", read(2, view), tools.ViewChanged)
	h.refused("a cursor of no list", h.call(h.run, retrieval.ToolList, `{"after":"AAAA"}`), tools.Selection)
	if out := read(5, r.View); out.IsError() || strings.Contains(out.Text(), "next_offset") {
		t.Errorf("at the end: %s", out.Text())
	}
}

func foreign(t *testing.T, d deck) {
	h := newHost(t, d, setup{codes: true})
	theirs := h.say(h.open("run-1x", "acmex"), "theirs")
	second := h.say(h.open("run-2", "acme"), "of another run")
	never := theirs
	never.ToolCallID, never.RunID = "never", "run-1"
	missing := h.call(h.run, retrieval.ToolRead, map[string]any{"reference": never}).Text()
	for what, args := range map[string]map[string]any{
		"another scope's id": {"id": theirs.EvidenceID}, "another scope's reference": {"reference": theirs}, "an id of nothing": {"id": "none"},
		"another run's id": {"id": second.EvidenceID}, "another run's reference": {"reference": second},
	} {
		out := h.call(h.run, retrieval.ToolRead, args)
		h.refused(what, out, tools.Missing)
		if out.Text() != missing {
			t.Errorf("%s: %s, missing is %s", what, out.Text(), missing)
		}
	}
	h.refused("another run's list", h.call(h.run, retrieval.ToolList, `{"run":"run-2"}`), tools.Missing)
	wide := newHostOn(h, d, setup{codes: true, whole: true})
	for what, args := range map[string]map[string]any{"id": {"id": second.EvidenceID}, "reference": {"reference": second}} {
		if out := wide.call(wide.run, retrieval.ToolRead, args); !strings.Contains(out.Text(), "of another run") {
			t.Errorf("another run's %s, allowed: %s", what, out.Text())
		}
	}
	h.refused("another scope's id, allowed or not", wide.call(wide.run, retrieval.ToolRead, map[string]any{"id": theirs.EvidenceID}), tools.Missing)
}

// newHostOn is another host on the same store, with a run of its own.
func newHostOn(h *host, d deck, s setup) *host {
	h.t.Helper()
	other := *h
	reading, err := tools.New(tools.Config{Reader: h.reader, WholeScope: s.whole})
	if err != nil {
		h.t.Fatal(err)
	}
	if other.set, err = boundary.NewToolset(h.b, reading...); err != nil {
		h.t.Fatal(err)
	}
	other.run, other.next = h.open("run-wide", "acme"), 1000
	return &other
}

// endless has more runs than a look-up looks at.
type endless struct{ canonical.Store }

func (e endless) ListRuns(_ context.Context, _ canonical.Scope, after canonical.ListedRun, most int) ([]canonical.ListedRun, error) {
	var out []canonical.ListedRun
	for i := range most {
		out = append(out, canonical.ListedRun{Run: "none", Expires: after.Expires.Add(time.Duration(i+1) * time.Second)})
	}
	return out, nil
}

func budget(t *testing.T, d deck) {
	h := newHost(t, deck{endless{d.Store}, d.now}, setup{codes: true, whole: true})
	out := h.call(h.run, retrieval.ToolRead, `{"id":"none"}`)
	h.refused("of endless runs", out, tools.LookupBudget)
	if strings.Contains(out.Text(), string(tools.Missing)) || out.Execution() != lifecycle.Completed {
		t.Errorf("%s", out.Text())
	}
	plain := newHost(t, d, setup{whole: true, run: "run-8"})
	out = plain.call(plain.run, retrieval.ToolRead, `{"id":"none"}`)
	plain.refused("without the codes", out, lifecycle.ToolExecutionFailed)
	down := fakes.NewFaulty(d.Store, "marker")
	faulty := newHost(t, deck{down, d.now}, setup{codes: true, run: "run-9"})
	down.Script(fakes.MethodFindEvidence, fakes.Every, fakes.FailBefore)
	out = faulty.call(faulty.run, retrieval.ToolRead, `{"id":"none"}`)
	faulty.refused("without a store", out, tools.Unavailable)
	if strings.Contains(out.Text(), "marker") {
		t.Errorf("a cause is shown: %s", out.Text())
	}
}

func uncounted(t *testing.T, d deck) {
	h := newHost(t, d, setup{})
	id := h.say(h.run, "x").EvidenceID
	count := func() int {
		page, err := mustIn(t, h.reader).List(t.Context(), retrieval.Filter{}, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Entries)
	}
	before := count()
	for range 10 {
		h.readAll(map[string]any{"id": id}, 16<<10)
		if out := h.call(h.run, retrieval.ToolList, "{}"); out.IsError() || !strings.Contains(out.Text(), `"returned":1`) {
			t.Fatalf("list: %s", out.Text())
		}
	}
	if after := count(); before != 1 || after != 1 {
		t.Errorf("%d entries before, %d after, want 1", before, after)
	}
}

func mustIn(t *testing.T, r *retrieval.Reader) *retrieval.Reader {
	t.Helper()
	in, err := r.In(canonical.Scope{Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func cutPages(t *testing.T, d deck) {
	h := newHost(t, d, setup{agent: 1500})
	var want []string
	for range 30 {
		want = append(want, h.say(h.run, "x").EvidenceID)
	}
	want = append(want, "")
	h.call(h.run, "say", "{}") // fails, and is listed
	var got []string
	cut := false
	for args := (map[string]any{"limit": 12}); ; {
		out := h.call(h.run, retrieval.ToolList, args)
		if out.IsError() || len(out.Text()) > 1500 {
			t.Fatalf("%d bytes: %s", len(out.Text()), out.Text())
		}
		var page struct {
			Returned int
			Next     string
			Entries  []struct {
				EvidenceID string `json:"evidence_id"`
				HasResult  bool   `json:"has_result"`
			}
		}
		if err := json.Unmarshal([]byte(out.Text()), &page); err != nil || page.Returned != len(page.Entries) || page.Returned == 0 {
			t.Fatalf("%s, %v", out.Text(), err)
		}
		cut = cut || page.Returned < 12 && page.Next != ""
		for _, e := range page.Entries {
			if !e.HasResult {
				e.EvidenceID = ""
			}
			got = append(got, e.EvidenceID)
		}
		if page.Next == "" {
			break
		}
		args["after"] = page.Next
	}
	if !cut || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("cut %t, %d entries, want %d, in order, each once", cut, len(got), len(want))
	}
	if out := h.call(h.run, retrieval.ToolList, `{"tool":"other"}`); out.Text() != `{"returned":0,"entries":[]}` {
		t.Errorf("a page of none: %s", out.Text())
	}
	failed := h.call(h.run, retrieval.ToolList, `{"status":"ERROR"}`).Text()
	if !strings.Contains(failed, `"returned":1`) || !strings.Contains(failed, "TOOL_EXECUTION_FAILED") {
		t.Errorf("failed ones: %s", failed)
	}
}

func viewsAlone(t *testing.T, d deck) {
	h := newHost(t, d, setup{})
	ref := h.say(h.run, `{"password":"hunter2","rows":[1,2]}`)
	got, _ := h.readAll(map[string]any{"id": ref.EvidenceID}, 16<<10)
	if got != `{"password":"[REDACTED]","rows":[1,2]}` {
		t.Errorf("read %s", got)
	}
	list := h.call(h.run, retrieval.ToolList, "{}").Text()
	for _, hidden := range []string{"hunter2", "rows", "principal", "operation_key", "harness:"} {
		if strings.Contains(list, hidden) {
			t.Errorf("the list shows %q: %s", hidden, list)
		}
	}
}

func TestNew_without_a_reader(t *testing.T) {
	t.Parallel()
	if _, err := tools.New(tools.Config{}); !errors.Is(err, tools.ErrConfig) {
		t.Errorf("New: %v", err)
	}
}

// S12: each of the two bodies says under which name it belongs, so that whoever
// keeps the names can tell it from another tool's.
func TestS12_reserved_names(t *testing.T) {
	t.Parallel()
	h := newHost(t, backends["fake"](t), setup{})
	both, err := tools.New(tools.Config{Reader: h.reader})
	if err != nil || len(both) != 2 {
		t.Fatalf("%d tools, %v", len(both), err)
	}
	for i, name := range []string{retrieval.ToolRead, retrieval.ToolList} {
		owner, ok := both[i].Executor.(interface{ ReservedName() string })
		if both[i].Name != name || !ok || owner.ReservedName() != name || !retrieval.Reserved(name) {
			t.Errorf("tool %d is %q, %t", i, both[i].Name, ok)
		}
	}
	if retrieval.Reserved("say") {
		t.Error("a common name is reserved")
	}
	mine := says()
	mine.Name = retrieval.ToolRead
	if _, err := boundary.NewToolset(h.b, append(both, mine)...); err == nil {
		t.Error("beside the tool itself its name was given twice")
	}
}

func TestCodes_can_be_registered(t *testing.T) {
	t.Parallel()
	for code, text := range tools.Codes() {
		if !code.WellFormed() || text == "" || len(text) > 256 {
			t.Errorf("%s has a text of %d bytes", code, len(text))
		}
	}
}

// A limit that holds nothing is an error, and never a reply without what was asked.
func TestProject_no_room(t *testing.T) {
	t.Parallel()
	h := newHost(t, backends["fake"](t), setup{agent: 60})
	id := h.say(h.run, "some text").EvidenceID
	h.refused("read", h.call(h.run, retrieval.ToolRead, map[string]any{"id": id}), lifecycle.ProjectionFailed)
	h.refused("list", h.call(h.run, retrieval.ToolList, "{}"), lifecycle.ProjectionFailed)
}
