package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

func TestFindings(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"T77_T105_a_citation_of_nothing_served", citesNothingServed},
		{"T79_siblings_go_on", badCitationAmongSiblings},
		{"T93_without_a_witness", withoutWitness},
		{"T95_T97_the_tool_does_not_see_the_argument", toolDoesNotSeeIt},
		{"T99_what_was_refused_is_no_fact", refusedIsNoFact},
		{"T107_an_earlier_run_served_again", earlierRunServedAgain},
		{"T110_T111_records_decide_what_is_backed", recordsDecide},
		{"reasons_of_a_refusal_are_the_hosts", reasonsAreTheHosts},
		{"records_that_cannot_be_read", recordsThatCannotBeRead},
	})
}

func TestFindingsArmed(t *testing.T) {
	onFake(t, []scenario{
		{"T96_a_tool_that_owns_the_name", toolOwnsTheName},
		{"T109_a_paused_call_without_its_proposal", pausedWithoutProposal},
		{"a_paused_call_with_its_proposal", pausedWithProposal},
		{"not_armed_nothing_is_taken_off", notArmed},
		{"armed_twice", armedTwice},
		{"one_toolset_alone", oneToolsetAlone},
		{"definitions_show_the_argument", definitionsShowIt},
		{"answers_are_judged", answersAreJudged},
		{"before_authorization_and_budget", beforeAuthorization},
		{"snapshots", runSnapshots},
		{"a_grant_is_for_the_bytes_without_the_argument", grantWithoutTheArgument},
	})
}

// citing is a process whose boundary judges citations, and what its observer saw.
func citing(t *testing.T, d *deck, change func(*boundary.Config)) (*bench, func() []boundary.Event) {
	t.Helper()
	seen := make(chan boundary.Event, 64)
	config := boundary.Config{Findings: true, Observer: boundary.ObserverFunc(func(_ context.Context, e boundary.Event) { seen <- e })}
	if change != nil {
		change(&config)
	}
	b := newBench(t, d, setup{config: config, spec: anyBudget()})
	return b, func() []boundary.Event {
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		close(seen)
		var all []boundary.Event
		for e := range seen {
			all = append(all, e)
		}
		return all
	}
}

// conversation is what a host keeps: the results it served, with its marks.
type conversation struct {
	b      *bench
	served []findings.Served
	marks  []findings.Mark
}

// serve puts the outcome of a call into the next request.
func (c *conversation) serve(run *boundary.Run, id string, o boundary.Outcome) {
	c.b.t.Helper()
	c.served = append(c.served, findings.Served{ID: id, Texts: []string{findings.TextDigest([]byte(o.Text()))}})
	if mark, ok := run.Mark(named(id), o); ok {
		c.marks = append(c.marks, mark)
	}
}

func (c *conversation) witness(run *boundary.Run) *findings.Witness {
	c.b.t.Helper()
	w, err := run.Witness(c.b.t.Context(), c.served, false, c.marks)
	if err != nil {
		c.b.t.Fatalf("Witness: %v", err)
	}
	return w
}

// cites is arguments that cite ids with a standing.
func cites(standing string, ids ...string) []byte {
	var previous []map[string]string
	for _, id := range ids {
		previous = append(previous, map[string]string{"toolCallId": id, "standing": standing})
	}
	text, err := json.Marshal(map[string]any{"q": "x", findings.Reserved: map[string]any{"previous": previous}})
	if err != nil {
		panic(err)
	}
	return text
}

// call is one call that cites.
func (c *conversation) call(run *boundary.Run, tools *boundary.Toolset, id string, arguments []byte) boundary.Result {
	c.b.t.Helper()
	return tools.Dispatch(c.b.t.Context(), run, boundary.Call{
		ID: canonical.ToolCallID(id), Name: someTool, Arguments: arguments, Witness: c.witness(run)})[0]
}

// wantTaught checks the refusal that a model reads, which is constant.
func wantTaught(t *testing.T, got boundary.Result) {
	t.Helper()
	wantFailed(t, got, lifecycle.ReferenceRefused, lifecycle.NotStarted)
}

// citesNothingServed: nothing runs, nothing is stored, and the run goes on. No
// observer or ledger needs to be looked at for that (T105).
func citesNothingServed(t *testing.T, d *deck) {
	b, _ := citing(t, d, func(c *boundary.Config) { c.Observer = nil })
	tool := says("ok")
	tools, talk := b.tools(tool), &conversation{b: b}
	wantTaught(t, talk.call(b.run, tools, "c1", cites("fact", "never-served")))
	wantEntered(t, tool, 0)
	b.noRecord("c1", 0)
	first := talk.call(b.run, tools, "c1", []byte(someArgs)) // corrected, under the same id
	wantReady(t, first, "seen: ok")
	talk.serve(b.run, "c1", first.Outcome)
	wantReady(t, talk.call(b.run, tools, "c2", cites("fact", "c1")), "seen: ok")
	wantEntered(t, tool, 2)
}

func badCitationAmongSiblings(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	tool := says("ok")
	calls := turn("c1", "c2", "c3")
	calls[0].Arguments = cites("fact", "never-served")
	calls[2].Arguments = cites("fact", "c2") // a sibling was not served yet
	w := (&conversation{b: b}).witness(b.run)
	for i := range calls {
		calls[i].Witness = w
	}
	got := b.tools(tool).Dispatch(t.Context(), b.run, calls...)
	wantTaught(t, got[0])
	wantReady(t, got[1], "seen: ok")
	wantTaught(t, got[2])
	wantEntered(t, tool, 1)
}

func withoutWitness(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	tools, talk := b.tools(says("ok")), &conversation{b: b}
	first := talk.call(b.run, tools, "c1", []byte(someArgs))
	talk.serve(b.run, "c1", first.Outcome)
	calls := turn("c2", "c3")
	calls[0].Arguments = cites("fact", "c1")
	other := b.open(anyBudget())
	got := tools.Dispatch(t.Context(), b.run, calls...)
	wantTaught(t, got[0])
	wantReady(t, got[1], "seen: ok")
	calls[0].Witness = talk.witness(other) // another run's proves nothing here
	wantTaught(t, tools.Dispatch(t.Context(), b.run, calls[0])[0])
}

// toolDoesNotSeeIt: a tool with a closed schema gets its own arguments, byte for
// byte; so do the record, the digests and the operation key.
func toolDoesNotSeeIt(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	var got []string
	var key string
	tool := readTool(someTool, boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
		got, key = append(got, string(in.Arguments)), in.OperationKey
		_, err := io.WriteString(raw, "ok")
		return err
	}))
	tool.Schema = json.RawMessage(`{"type":"object","properties":{"q":{"type":"number"}},"required":["q"],"additionalProperties":false}`)
	talk := &conversation{b: b}
	wantReady(t, talk.call(b.run, b.toolset(tool), "c1", []byte(`{ "q":1.00 ,"_findings":{"basis":"direct"}}`)), "seen: ok")
	const want = `{ "q":1.00 }`
	if len(got) != 1 || strings.TrimRight(got[0], " }")+" }" != want {
		t.Errorf("the tool got %q, want %q", got, want)
	}
	record := b.record("c1")
	if string(record.Request) != got[0] {
		t.Errorf("the record has %q, the tool got %q", record.Request, got[0])
	}
	if want := record.Identity.OperationKey(record.Request); key != want {
		t.Errorf("operation key %q, want that of the arguments without the reserved one, %q", key, want)
	}
}

// refusedIsNoFact: what a refused proposal declared is in the ledger for
// diagnosis, with its reason, and neither a standing nor a fact of the run.
func refusedIsNoFact(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	tools, talk := b.tools(says("ok")), &conversation{b: b}
	wantTaught(t, talk.call(b.run, tools, "c1", cites("fact", "never-served")))
	refusals := 0
	for _, row := range b.run.Findings().Rows() {
		if row.Kind == findings.RowRefusal && row.Reason == findings.NotServed {
			refusals++
		}
	}
	if refusals != 1 {
		t.Errorf("%d rows say that the citation was refused, want one: %+v", refusals, b.run.Findings().Rows())
	}
	if row, ok := b.run.Findings().Standing("never-served"); ok {
		t.Errorf("the refused citation has the standing %+v", row)
	}
	report, err := b.run.Facts(t.Context())
	if err != nil || len(report.Facts) != 0 || report.Totals.Admitted != 0 {
		t.Errorf("%d facts, %d admitted, %v; want none", len(report.Facts), report.Totals.Admitted, err)
	}
}

func earlierRunServedAgain(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	tools := b.tools(says("ok"))
	earlier, unrelated := b.open(anyBudget()), b.open(anyBudget())
	talk := &conversation{b: b}
	for id, run := range map[string]*boundary.Run{"old": earlier, "strange": unrelated} {
		got := tools.Dispatch(t.Context(), run, boundary.Call{ID: canonical.ToolCallID(id), Name: someTool, Arguments: []byte(someArgs)})[0]
		wantReady(t, got, "seen: ok")
		talk.serve(run, id, got.Outcome)
	}
	spec := anyBudget()
	spec.Continues = []canonical.RunID{earlier.ID()}
	now := b.open(spec)
	wantReady(t, talk.call(now, tools, "c1", cites("fact", "old")), "seen: ok")
	wantTaught(t, talk.call(now, tools, "c2", cites("fact", "strange")))
	joined, err := b.JoinRun(t.Context(), now.Ticket())
	if err != nil {
		t.Fatal(err)
	}
	wantReady(t, talk.call(joined, tools, "c3", cites("fact", "old")), "seen: ok")
}

// recordsDecide: an ERROR is never evidence, an absence backs no fact, and a
// record that was deleted backs nothing.
func recordsDecide(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	nothing := projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
		return projector.Projection{Result: []byte("[]"), Status: evidence.None, Coverage: evidence.Searched("x", "table t")}, nil
	})
	tools := b.toolset(readTool(someTool, says("ok")), readTool("fails", fails(errLost)),
		boundary.Tool{Name: "empty", Effect: canonical.EffectRead, Executor: says("[]"), Projector: nothing})
	talk := &conversation{b: b}
	for id, tool := range map[string]string{"ok": someTool, "error": "fails", "absent": "empty", "gone": someTool} {
		got := tools.Dispatch(t.Context(), b.run, boundary.Call{ID: canonical.ToolCallID(id), Name: tool, Arguments: []byte(someArgs)})[0]
		talk.serve(b.run, id, got.Outcome)
	}
	if err := b.deck.Delete(t.Context(), b.run.Key(), named("gone")); err != nil {
		t.Fatal(err)
	}
	wantTaught(t, talk.call(b.run, tools, "c1", cites("fact", "error")))
	wantTaught(t, talk.call(b.run, tools, "c2", cites("fact", "gone")))
	wantReady(t, talk.call(b.run, tools, "c3", cites("fact", "ok")), "seen: ok")
	wantReady(t, talk.call(b.run, tools, "c4", cites("ruled-out", "absent")), "seen: ok")
	unsettled := slices.ContainsFunc(b.run.Findings().Rows(), func(r findings.Row) bool { return r.Kind == findings.RowUnsettled && r.ID == "absent" })
	if !unsettled {
		t.Error("no row says what the absence does not settle")
	}
	a, err := b.run.AdmitAnswer(t.Context(), talk.witness(b.run), findings.RawAnswer, cites("fact", "absent"))
	if err != nil || len(a.Verdicts) != 1 || a.Verdicts[0].Backing != findings.BacksAbsence {
		t.Errorf("an absence cited as a fact: %v, %v; want that it backs the absence", a.Verdicts, err)
	}
}

// reasonsAreTheHosts: the model reads one constant; the observer gets counts by
// reason, without an id or a word of the model.
func reasonsAreTheHosts(t *testing.T, d *deck) {
	b, events := citing(t, d, nil)
	const word = "m4rker"
	talk := &conversation{b: b}
	wantTaught(t, talk.call(b.run, b.tools(says("ok")), "c1", cites("fact", word, word+"2")))
	all := events()
	if len(all) != 1 || all[0].Findings == nil {
		t.Fatalf("events %+v, want one with its findings", all)
	}
	want := findings.Event{Call: canonical.Identity{RunKey: b.run.Key(), Call: named("c1")}, Citations: 2,
		Reasons: []findings.ReasonCount{{Reason: findings.NotServed, Count: 2}}}
	text, err := json.Marshal(all[0].Findings)
	wantText, _ := json.Marshal(want)
	if err != nil || string(text) != string(wantText) || strings.Contains(string(text), word) {
		t.Errorf("findings of the event %s, %v; want %s", text, err, wantText)
	}
}

func recordsThatCannotBeRead(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	talk := &conversation{b: b}
	first := talk.call(b.run, b.tools(says("ok")), "c1", []byte(someArgs))
	talk.serve(b.run, "c1", first.Outcome)
	b.faulty.Script(fakes.MethodHeads, 2, fakes.FailBefore)
	if _, err := b.run.Witness(t.Context(), talk.served, false, talk.marks); err != nil {
		t.Errorf("the first look: %v", err)
	}
	if w, err := b.run.Witness(t.Context(), talk.served, false, talk.marks); err == nil || w != nil {
		t.Errorf("with a store that does not answer: %v, %v; want an error and no witness", w, err)
	}
}

func toolOwnsTheName(t *testing.T, d *deck) {
	b, events := citing(t, d, nil)
	var got string
	own := readTool(someTool, boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
		got = string(in.Arguments)
		_, err := io.WriteString(raw, "ok")
		return err
	}))
	own.Schema, own.OwnsFindings = json.RawMessage(`{"properties":{"_findings":{"type":"object"}}}`), true
	set := b.toolset(own)
	arguments := cites("fact", "never-served")
	wantReady(t, (&conversation{b: b}).call(b.run, set, "c1", arguments), "seen: ok")
	if got != string(arguments) {
		t.Errorf("the tool got %s, want %s", got, arguments)
	}
	if rows := b.run.Findings().Rows(); len(rows) != 0 {
		t.Errorf("rows %+v, want none", rows)
	}
	if shown := set.Definitions()[0].Schema; string(shown) != string(own.Schema) {
		t.Errorf("the model is shown %s, want the tool's own schema", shown)
	}
	if all := events(); len(all) != 1 || all[0].Findings != nil {
		t.Errorf("events %+v, want one without findings", all)
	}
	own.OwnsFindings = false
	if _, err := boundary.NewToolset(b.ToolBoundary, own); !isConfigError(err) {
		t.Errorf("a tool that brings the name without owning it: %v, want a *ConfigError", err)
	}
}

func isConfigError(err error) bool { _, ok := errors.AsType[*boundary.ConfigError](err); return ok }

// pausedWithoutProposal: the body is not entered, nothing is stored, and the one
// event says that it was refused.
func pausedWithoutProposal(t *testing.T, d *deck) {
	b, events := citing(t, d, nil)
	tool := says("ok")
	calls := turn("c1")
	calls[0].Paused, calls[0].Witness = true, (&conversation{b: b}).witness(b.run)
	wantTaught(t, b.tools(tool).Dispatch(t.Context(), b.run, calls...)[0])
	wantEntered(t, tool, 0)
	b.noRecord("c1", 0)
	if all := events(); len(all) != 1 || all[0].Kind != boundary.EventRefused {
		t.Errorf("events %+v, want one refusal", all)
	}
}

// propose is the proposal of a call as it was emitted.
func propose(t *testing.T, w *findings.Witness, id string, arguments []byte) findings.Proposal {
	t.Helper()
	request, err := canonical.ParseRequest(arguments, canonical.MaxRequestBytes)
	if err != nil {
		t.Fatal(err)
	}
	p, err := findings.Propose(w, named(id), someTool, request)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pausedWithProposal: what was served when the call was proposed counts, in
// another process too; what was served later does not.
func pausedWithProposal(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	tool := says("ok")
	tools, talk := b.tools(tool), &conversation{b: b}
	first := talk.call(b.run, tools, "c1", []byte(someArgs))
	talk.serve(b.run, "c1", first.Outcome)
	early := talk.witness(b.run)
	later := talk.call(b.run, tools, "c2", []byte(someArgs))
	talk.serve(b.run, "c2", later.Outcome)
	good, bad := cites("fact", "c1"), cites("fact", "c2")
	for id, arguments := range map[string][]byte{"good": good, "bad": bad, "changed": good} {
		if err := b.run.Hold(named(id), propose(t, early, id, arguments)); err != nil {
			t.Fatal(err)
		}
	}
	snapshot, err := b.run.Snapshot(findings.Redactor(nil))
	if err != nil {
		t.Fatal(err)
	}
	other := b.joined(boundary.Config{Findings: true})
	if err := other.run.Restore(snapshot); err != nil {
		t.Fatal(err)
	}
	set, now := other.tools(tool), talk.witness(b.run)
	made := func(id string, arguments []byte) boundary.Result {
		return set.Dispatch(t.Context(), other.run, boundary.Call{ID: canonical.ToolCallID(id), Name: someTool, Arguments: arguments, Witness: now, Paused: true})[0]
	}
	wantReady(t, made("good", good), "seen: ok")
	wantTaught(t, made("bad", bad))
	wantTaught(t, made("changed", bad))
	wantEntered(t, tool, 3)
}

func notArmed(t *testing.T, d *deck) {
	b, events := citing(t, d, func(c *boundary.Config) { c.Findings = false })
	var got string
	tool := boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
		got = string(in.Arguments)
		_, err := io.WriteString(raw, "ok")
		return err
	})
	arguments := cites("fact", "never-served")
	set := b.tools(tool)
	wantReady(t, set.Dispatch(t.Context(), b.run, boundary.Call{ID: "c1", Name: someTool, Arguments: arguments})[0], "seen: ok")
	if got != string(arguments) {
		t.Errorf("the tool got %s, want %s", got, arguments)
	}
	if rows := b.run.Findings().Rows(); len(rows) != 0 {
		t.Errorf("rows %+v, want none", rows)
	}
	if schema := set.Definitions()[0].Schema; len(schema) != 0 {
		t.Errorf("the model is shown %s, want nothing", schema)
	}
	if all := events(); len(all) != 1 || all[0].Findings != nil {
		t.Errorf("events %+v, want one without findings", all)
	}
}

func armedTwice(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	if _, err := b.tools(says("ok")).WithFindings(); !isConfigError(err) {
		t.Errorf("armed by the boundary and again: %v, want a *ConfigError", err)
	}
	plain := newBench(t, d, setup{})
	armed, err := plain.tools(says("ok")).WithFindings()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := armed.WithFindings(); !isConfigError(err) {
		t.Errorf("armed twice: %v, want a *ConfigError", err)
	}
}

func oneToolsetAlone(t *testing.T, d *deck) {
	b := newBench(t, d, setup{spec: anyBudget()})
	plain := b.tools(says("ok"))
	armed, err := plain.WithFindings()
	if err != nil {
		t.Fatal(err)
	}
	talk := &conversation{b: b}
	wantTaught(t, talk.call(b.run, armed, "c1", cites("fact", "never-served")))
	wantReady(t, talk.call(b.run, plain, "c1", cites("fact", "never-served")), "seen: ok")
	brings := readTool("brings", says("ok"))
	brings.Schema = json.RawMessage(`{"properties":{"_findings":{}}}`)
	if _, err := b.toolset(brings).WithFindings(); !isConfigError(err) {
		t.Errorf("a tool that brings the name: %v, want a *ConfigError", err)
	}
	env := b.envelope("c2")
	env.Input = cites("fact", "never-served")
	wantReady(t, b.Invoke(t.Context(), b.run, env, reading(says("ok"))), "seen: ok")
}

func definitionsShowIt(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	closed := readTool("closed", says("ok"))
	closed.Schema = json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"additionalProperties":false}`)
	for _, def := range b.toolset(closed, readTool("bare", says("ok"))).Definitions() {
		var shown struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(def.Schema, &shown); err != nil || shown.Properties[findings.Reserved] == nil {
			t.Errorf("%s: the model is shown %s, %v; want the reserved argument in it", def.Name, def.Schema, err)
		}
	}
}

func answersAreJudged(t *testing.T, d *deck) {
	b, events := citing(t, d, nil)
	talk := &conversation{b: b}
	first := talk.call(b.run, b.tools(says("ok")), "c1", []byte(someArgs))
	talk.serve(b.run, "c1", first.Outcome)
	w := talk.witness(b.run)
	if _, err := b.run.AdmitAnswer(t.Context(), w, findings.RawAnswer, cites("fact", "c1")); err != nil {
		t.Errorf("an answer that cites what was served: %v", err)
	}
	_, err := b.run.AdmitAnswer(t.Context(), w, findings.TransformedAnswer, cites("fact", "c9"))
	if denied, ok := errors.AsType[*findings.AnswerDeniedError](err); !ok || denied.Stage != findings.TransformedAnswer {
		t.Errorf("an answer that cites what was not: %v, want an *AnswerDeniedError", err)
	}
	strange := (&conversation{b: b, served: talk.served}).witness(b.open(anyBudget()))
	if _, err := b.run.AdmitAnswer(t.Context(), strange, findings.RawAnswer, cites("fact", "c1")); err == nil {
		t.Error("an answer was admitted with another run's witness")
	}
	var kinds []boundary.EventKind
	for _, e := range events() {
		kinds = append(kinds, e.Kind)
	}
	want := []boundary.EventKind{boundary.EventReady, boundary.EventAnswer, boundary.EventAnswer, boundary.EventAnswer}
	if !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
}

func beforeAuthorization(t *testing.T, d *deck) {
	b, _ := citing(t, d, func(c *boundary.Config) {
		c.Authorizer = boundary.AuthorizerFunc(func(context.Context, boundary.AuthorizationRequest) (boundary.Grant, error) {
			t.Error("somebody was asked about a call that cites nothing served")
			return boundary.Grant{}, errLost
		})
	})
	talk := &conversation{b: b}
	wantTaught(t, talk.call(b.run, b.tools(says("ok")), "c1", cites("fact", "c9")))
	if got := b.state(); got.LastSeq != 0 || got.Reserved != 0 {
		t.Errorf("state %+v, want nothing taken", got)
	}
}

// grantWithoutTheArgument: what is authorized is what the tool gets.
func grantWithoutTheArgument(t *testing.T, d *deck) {
	var asked string
	b, _ := citing(t, d, func(c *boundary.Config) {
		c.Authorizer = boundary.AuthorizerFunc(func(_ context.Context, q boundary.AuthorizationRequest) (boundary.Grant, error) {
			asked = string(q.Arguments)
			return q.Grant(), nil
		})
	})
	wantReady(t, (&conversation{b: b}).call(b.run, b.tools(says("ok")), "c1", []byte(`{"_findings":{"basis":"direct"},"q":"x"}`)), "seen: ok")
	if asked != someArgs {
		t.Errorf("asked about %s, want %s", asked, someArgs)
	}
}

func runSnapshots(t *testing.T, d *deck) {
	b, _ := citing(t, d, nil)
	talk := &conversation{b: b}
	wantTaught(t, talk.call(b.run, b.tools(says("ok")), "c1", cites("fact", "c9")))
	snapshot, err := b.run.Snapshot(findings.Redactor(nil))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(snapshot), string(b.run.Ticket().Token)) {
		t.Error("the snapshot has the run's token")
	}
	again := b.joined(boundary.Config{Findings: true})
	if err := again.run.Restore(snapshot); err != nil {
		t.Fatal(err)
	}
	if got, want := len(again.run.Findings().Rows()), len(b.run.Findings().Rows()); got != want || want == 0 {
		t.Errorf("%d rows after Restore, want %d", got, want)
	}
	other := b.open(anyBudget())
	for what, text := range map[string]string{
		"cut":             string(snapshot[:len(snapshot)-1]),
		"nothing":         "",
		"another version": strings.Replace(string(snapshot), `"v":1`, `"v":99`, 1),
		"no ledger":       `{"v":1,"run":"` + string(b.run.ID()) + `","scope":"` + b.run.Key().Scope.Digest() + `"}`,
		"unknown member":  strings.Replace(string(snapshot), `"v":1`, `"x":1,"v":1`, 1),
	} {
		if err := again.run.Restore([]byte(text)); !isSnapshotError(err) {
			t.Errorf("%s: %v, want a *SnapshotError", what, err)
		}
	}
	if err := other.Restore(snapshot); !isSnapshotError(err) {
		t.Errorf("in another run: %v, want a *SnapshotError", err)
	}
	if got := len(again.run.Findings().Rows()); got == 0 {
		t.Error("a snapshot that was refused has changed the run")
	}
	p := propose(t, talk.witness(b.run), "held", []byte(someArgs))
	for i := range boundary.MaxHeld {
		if err := b.run.Hold(named(upTo(boundary.MaxHeld)[i]), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.run.Hold(named("one-more"), p); !errors.Is(err, boundary.ErrHeldFull) {
		t.Errorf("one more than it holds: %v, want ErrHeldFull", err)
	}
	if err := b.run.Hold(named(upTo(1)[0]), p); err != nil {
		t.Errorf("one that it holds: %v", err)
	}
}

func isSnapshotError(err error) bool {
	_, ok := errors.AsType[*boundary.SnapshotError](err)
	return ok
}
