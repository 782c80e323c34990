package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
)

// databaseName is what results and facts call the database.
const databaseName = "chinook"

// Scope is whose runs those of the demo are.
func Scope() canonical.Scope { return canonical.Scope{Tenant: "demo", Namespace: databaseName} }

// Screen is told of everything as it happens. Its methods are called from one goroutine.
type Screen interface {
	// Begin has what is known ahead: store, run, questions with calls and refusals that have no outcome yet.
	Begin(Document)
	Running(what string, n, of int)
	Question(text string)
	Call(Call)
	Message(Message)
	Searched(Search)
	Refused(Refusal)
	// End has everything.
	End(Document)
}

// demo is one run of the demonstration.
type demo struct {
	options  Options
	screen   Screen
	place    *place.Place
	again    *place.Again // what the checks read with: on a server, a client of its own
	sources  sources
	script   script
	entries  *entries
	together *together
	tools    []boundary.Tool

	boundary *boundary.ToolBoundary
	toolset  *boundary.Toolset
	scope    canonical.Scope
	run      *boundary.Run
	runs     []canonical.RunKey // all that were asked for, so that nothing of them is left
	removed  bool               // their keys are known to be gone

	sent     []boundary.Call // admitted or not, in order, with the outcomes below
	outcomes []boundary.Outcome
	answered []canonical.CallName // whose the answers to the messages are, in the order answered
	document Document
}

// Run runs the whole demonstration and tells the screen. The error is of the options (an [*OptionError] or a
// *redisstore.URLError), of the files or the server, or of ctx; a broken promise is none, see [Document.Failed].
func Run(ctx context.Context, o Options, screen Screen) (document Document, err error) {
	if err := o.check(); err != nil {
		return Document{}, err
	}
	d := &demo{options: o.withDefaults(), screen: screen, scope: Scope()}
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	for _, step := range []func(context.Context) error{d.open, d.openRun, d.recorded, d.searches, d.refused, d.facts, d.check} {
		if err := step(ctx); err != nil {
			return Document{}, place.Because(err)
		}
		if err := ctx.Err(); err != nil {
			return Document{}, fmt.Errorf("demo: stopped: %w", context.Cause(ctx))
		}
	}
	d.screen.End(d.document)
	return d.document, nil
}

// open opens everything that does not need the run.
func (d *demo) open(ctx context.Context) (err error) {
	if d.place, err = place.Open(ctx, place.Where{Redis: d.options.Redis, Data: d.options.Data}); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if d.entries, err = openEntries(d.options.Entries); err != nil {
		return err
	}
	if d.again, err = d.place.Again(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if d.sources, err = openSources(ctx, d.options.articles); err != nil {
		return err
	}
	d.tools = d.sources.tools()
	if d.script, err = readScript(d.tools); err != nil {
		return err
	}
	d.tools = append(d.tools, addArtist(d.sources.agent))
	d.together = newTogether(d.script.messages, d.options.patience)
	for i := range d.tools {
		d.tools[i].Executor = d.options.executor(d.entries.around(d.together.around(d.tools[i].Executor)))
		if d.tools[i].Name == sqlagent.NameListTables {
			d.tools[i].Budget = d.script.perTool[sqlagent.NameListTables]
		}
	}
	d.boundary, err = boundary.New(boundary.Config{
		Store: d.place.Store, Authorizer: boundary.AllowAll{}, Codes: codes(), Now: d.place.Now,
	})
	if err != nil {
		return err
	}
	d.toolset, err = boundary.NewToolset(d.boundary, d.tools...)
	return err
}

func (d *demo) openRun(ctx context.Context) (err error) {
	d.run, err = d.newRun(ctx, 0)
	if err != nil {
		return err
	}
	d.document = Document{Store: d.place.Name, Run: d.run.ID()}
	for _, c := range d.script.conversations {
		q := Question{Question: c.Question, Source: c.Source}
		for _, call := range c.Calls {
			q.Calls = append(q.Calls, Call{ID: boundary.ToolCallID(call.ID), Tool: call.Tool})
		}
		d.document.Questions = append(d.document.Questions, q)
	}
	for _, m := range d.script.messages {
		d.document.Messages = append(d.document.Messages, m.planned())
	}
	for _, a := range d.script.attempts() {
		d.document.Refused = append(d.document.Refused, a.refusal())
	}
	d.screen.Begin(d.document)
	return nil
}

// newRun chooses the id before it asks for the run: were the answer lost, the keys could still be found and removed.
func (d *demo) newRun(ctx context.Context, duration time.Duration) (*boundary.Run, error) {
	key := canonical.RunKey{Scope: d.scope, Run: canonical.RunID("demo-" + rand.Text())}
	d.runs = append(d.runs, key)
	return d.boundary.OpenRun(ctx, boundary.RunSpec{
		ID: key.Run, Scope: key.Scope, Principal: boundary.Principal{Agent: "recorded SQL agent and the demo's own messages"},
		MaxDuration: duration, Budget: boundary.Budget{Calls: d.script.admitted()},
	})
}

// recorded sends the recorded calls, those of one message at once.
func (d *demo) recorded(ctx context.Context) error {
	n := 0
	for i, c := range d.script.conversations {
		d.screen.Question(c.Question)
		done := d.document.Questions[i].Calls[:0]
		for _, calls := range turns(c) {
			d.screen.Running(names(calls), n+len(calls), d.script.calls)
			for j, result := range d.toolset.Dispatch(ctx, d.run, calls...) {
				d.note(calls[j], result.Outcome)
				done = append(done, callOf(calls[j], result.Outcome))
				d.screen.Call(done[len(done)-1])
				if _, err := answer(result); err != nil && ctx.Err() == nil {
					return err
				}
			}
			if ctx.Err() != nil {
				return nil // told by the caller
			}
			n += len(calls)
		}
	}
	return nil
}

func names(calls []boundary.Call) string {
	text := ""
	for i, call := range calls {
		if i > 0 {
			text += " and "
		}
		text += call.Name
	}
	return text
}

func (d *demo) note(call boundary.Call, o boundary.Outcome) {
	d.sent, d.outcomes = append(d.sent, call), append(d.outcomes, o)
}

// refused sends the calls that must be refused.
func (d *demo) refused(ctx context.Context) error {
	attempts := d.script.attempts()
	for i, a := range attempts {
		d.screen.Running(a.what, i+1, len(attempts))
		outcome, err := a.by(d, ctx, a.call)
		if err != nil || ctx.Err() != nil {
			return err
		}
		d.note(a.call, outcome)
		r := &d.document.Refused[i]
		r.Code, r.Ran = outcome.Code(), outcome.Execution().Ran()
		d.screen.Refused(*r)
	}
	return nil
}

func (d *demo) dispatch(ctx context.Context, call boundary.Call) (boundary.Outcome, error) {
	return answer(d.toolset.Dispatch(ctx, d.run, call)[0])
}

// answer is the outcome, unless the server is lost.
func answer(result boundary.Result) (boundary.Outcome, error) {
	if place.Lost(result.Outcome.Code()) {
		return result.Outcome, result.Err
	}
	return result.Outcome, nil
}

// asOfAnotherRun sends an envelope that names another run than the one it is sent in. A toolset fills the envelope itself
// and cannot be wrong about that, so this goes through the primitive below it.
func (d *demo) asOfAnotherRun(ctx context.Context, call boundary.Call) (boundary.Outcome, error) {
	for _, tool := range d.tools {
		if tool.Name == call.Name {
			envelope := boundary.Envelope{
				RunID: d.run.ID() + "-other", ToolCallID: call.ID, Tool: call.Name, Input: call.Arguments, Authorized: true, ReadOnly: true,
			}
			action := boundary.Action{Executor: tool.Executor, Projector: tool.Projector, Effect: tool.Effect}
			return d.boundary.Invoke(ctx, d.run, envelope, action).Outcome, nil
		}
	}
	return boundary.Outcome{}, errors.New("demo: the script names a tool that does not exist")
}

// shortRun is the life of the run that is opened on a Redis only to outlive it.
const shortRun = 20 * time.Millisecond

// afterDeadline moves the embedded clock past the run's deadline, or waits for that of a short run.
func (d *demo) afterDeadline(ctx context.Context, call boundary.Call) (boundary.Outcome, error) {
	if d.place.Embedded != nil {
		d.place.Embedded.Advance(boundary.DefaultMaxDuration)
		return d.dispatch(ctx, call)
	}
	short, err := d.newRun(ctx, shortRun)
	if err != nil {
		return boundary.Outcome{}, err
	}
	timer := time.NewTimer(shortRun)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	outcome, err := answer(d.toolset.Dispatch(ctx, short, call)[0])
	return outcome, errors.Join(err, short.Close(ctx))
}

// facts closes the run first, so that the report can be complete.
func (d *demo) facts(ctx context.Context) (err error) {
	if err = d.run.Close(ctx); err != nil {
		return err
	}
	d.document.Facts, err = d.run.Facts(ctx)
	return err
}

// closing bounds what is done after the end, also after an interrupt.
const closing = 5 * time.Second

// close removes the keys, unless they are to be kept, and closes what was opened.
func (d *demo) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	var problems []error
	if d.boundary != nil {
		problems = append(problems, d.boundary.Shutdown(ctx))
	}
	if d.again != nil {
		problems = append(problems, d.again.Close())
	}
	if d.place != nil {
		if !d.options.Keep && !d.removed {
			problems = append(problems, d.place.Outside.Remove(ctx, d.runs))
		}
		problems = append(problems, d.place.Close())
	}
	problems = append(problems, d.sources.close())
	if d.entries != nil {
		problems = append(problems, d.entries.close())
	}
	return errors.Join(problems...)
}

// look is the command that shows one record: that of the last query, since it is short.
func (d *demo) look() string {
	return d.place.Command(d.run.Key(), canonical.CallName{ID: d.script.lastOf(sqlagent.NameQuery).ID})
}
