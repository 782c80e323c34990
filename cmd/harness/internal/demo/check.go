package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// check holds everything against what it must be. A check that fails does not keep the others from being made.
func (d *demo) check(ctx context.Context) error {
	d.options.beforeChecks(ctx, slices.Clone(d.runs))
	for _, c := range []struct {
		what string
		look func(context.Context) (string, error)
	}{
		{"every recorded call is READY", d.checkReady},
		{"every search has its verdict", d.checkVerdicts},
		{"every refusal has its code and says whether the tool ran", d.checkRefusals},
		{"a tool was entered once for each admission", d.checkEntries},
		{"results are those that were recorded", d.checkResults},
		{"searches found what is published", d.checkPublished},
		{"nothing found was searched to the end", d.checkAbsences},
		{"calls of a message ran at once, answered in order", d.checkTogether},
		{"an id in another turn is another call", d.checkTurns},
		{"Chinese text is the same everywhere, byte for byte", d.checkChinese},
		{"records hold what was sent and returned, byte for byte", d.checkRecords},
		{"the database is unchanged", d.checkDatabase},
		{"the facts are complete and count every call", d.checkFacts},
		{"every key of the run expires", d.checkKeys},
		{"no result is left outside the store", d.checkShutdown},
		{"nothing of the run is left", d.checkRemoved},
	} {
		detail, err := c.look(ctx)
		if err != nil {
			detail = oneLine(err)
		}
		if detail != "" {
			d.document.Checks = append(d.document.Checks, Check{What: c.what, OK: err == nil, Detail: detail})
		}
	}
	d.document.OK = len(d.document.Failed()) == 0
	return nil
}

// oneLine joins the errors of one check.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (d *demo) checkReady(context.Context) (string, error) {
	var problems []error
	count := 0
	for _, q := range d.document.Questions {
		for _, call := range q.Calls {
			count++
			if call.State != lifecycle.Ready || call.Ran != lifecycle.Completed.Ran() {
				problems = append(problems, fmt.Errorf("%s is %s %s, ran %s", call.ID, call.State, call.Code, call.Ran))
			}
		}
	}
	if count != d.script.calls {
		problems = append(problems, fmt.Errorf("%d of %d calls have an outcome", count, d.script.calls))
	}
	return fmt.Sprintf("%d calls", count), errors.Join(problems...)
}

func (d *demo) checkRefusals(context.Context) (string, error) {
	var problems []error
	for _, r := range d.document.Refused {
		if !r.AsItMust() {
			problems = append(problems, fmt.Errorf("%s: got %s, ran %s, want %s, ran %s", r.What, orNone(string(r.Code)), orNone(r.Ran), r.WantCode, r.WantRan))
		}
	}
	return fmt.Sprintf("%d calls", len(d.document.Refused)), errors.Join(problems...)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// checkEntries compares three accounts: the ledger's admissions, the tools' own, and the file's.
func (d *demo) checkEntries(ctx context.Context) (string, error) {
	admitted, err := d.admissions(ctx)
	if err != nil {
		return "", err
	}
	entered := d.entries.all()
	var problems []error
	if len(entered) != len(admitted) || len(admitted) != d.script.admitted() {
		problems = append(problems, fmt.Errorf("%d entries, %d admissions, want %d of both", len(entered), len(admitted), d.script.admitted()))
	}
	times := map[canonical.Identity]int{}
	for _, e := range entered {
		times[e.identity]++
		if times[e.identity] == 2 {
			problems = append(problems, fmt.Errorf("%s was entered more than once", label(e.identity.Call)))
		}
		if !slices.Contains(admitted, e.identity.Call) || e.identity.RunKey != d.run.Key() {
			problems = append(problems, fmt.Errorf("%s was entered and is not admitted", label(e.identity.Call)))
		}
	}
	detail, err := d.recount(entered)
	return fmt.Sprintf("%d admissions, %d entries%s", len(admitted), len(entered), detail), errors.Join(append(problems, err)...)
}

// recount compares the tools' own account with the lines of the file, where there is one that can be read back.
func (d *demo) recount(entered []entry) (detail string, err error) {
	lines, counted, err := d.entries.recount(d.runs)
	if err != nil {
		return "", errors.New("the entries file cannot be read back")
	}
	if !counted {
		return "", nil
	}
	want := make([]string, len(entered))
	for i, e := range entered {
		want[i] = line(e.identity, e.tool)
	}
	if !slices.Equal(lines, want) {
		return "", fmt.Errorf("the entries file has %d lines of this run, want %d, one for each entry", len(lines), len(want))
	}
	return fmt.Sprintf(", %d lines in the file", len(lines)), nil
}

// admissions are the calls that the ledger has admitted, in order.
func (d *demo) admissions(ctx context.Context) ([]canonical.CallName, error) {
	order, err := d.again.Order(ctx, d.run.Key(), 0, 2*d.script.admitted())
	if err != nil {
		return nil, err
	}
	list := make([]canonical.CallName, len(order))
	for i, numbered := range order {
		list[i] = numbered.Call
	}
	return list, nil
}

// record reads a record whole, with another client than the boundary's.
func (d *demo) record(ctx context.Context, name canonical.CallName) (canonical.Record, error) {
	return d.again.Record(ctx, d.run.Key(), name)
}

// nameOfSent is the name of the call at this place of those sent.
func (d *demo) nameOfSent(place int) canonical.CallName {
	return canonical.CallName{Turn: d.sent[place].Turn, ID: d.sent[place].ID}
}

// checkRecords reads every record whole and compares it with what the demo sent, what the tools wrote and what the model got.
func (d *demo) checkRecords(ctx context.Context) (string, error) {
	var problems []error
	wrote := map[canonical.CallName]entry{}
	for _, e := range d.entries.all() {
		wrote[e.identity.Call] = e
	}
	var bytes int64
	count := 0
	for i, o := range d.outcomes {
		if o.Execution() == lifecycle.NotStarted {
			continue // refused: there is no record of it, or it is another call's
		}
		name := d.nameOfSent(i)
		record, err := d.record(ctx, name)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", label(name), err))
			continue
		}
		count++
		bytes += record.Raw.Size
		problems = append(problems, compare(record, d.sent[i].Arguments, wrote[name], o.Text(), o.IsError()))
	}
	return fmt.Sprintf("%d records, %d bytes raw", count, bytes), errors.Join(problems...)
}

// compare names what of a record is not as it was on its way.
func compare(record canonical.Record, arguments []byte, wrote entry, text string, failed bool) error {
	for _, part := range []struct {
		name string
		same bool
	}{
		{"request", string(record.Request) == string(arguments)},
		{"raw result", failed || record.Raw.Present() && record.Raw.Size == wrote.size && record.Raw.SHA256 == wrote.sha256},
		{"raw result of a failed call", !failed || !record.Raw.Present()},
		{"agent result", failed || string(record.Agent) == text},
		{"state", failed == (record.State == lifecycle.Error)},
	} {
		if !part.same {
			return fmt.Errorf("%s: the stored %s is another", label(record.Identity.Call), part.name)
		}
	}
	return nil
}

func (d *demo) checkFacts(context.Context) (string, error) {
	report, admitted, ready := d.document.Facts, d.script.admitted(), d.script.ready()
	t := report.Totals
	var problems []error
	if !report.Complete || t.Admitted != int64(admitted) || t.Calls != admitted || t.Ready != ready {
		problems = append(problems, fmt.Errorf("complete %t, %d admitted, %d looked at, %d ready, want %d, %d and %d",
			report.Complete, t.Admitted, t.Calls, t.Ready, admitted, admitted, ready))
	}
	if n := len(report.Excluded); n != admitted-ready {
		problems = append(problems, fmt.Errorf("%d calls are excluded, want the search that stopped and the refused DELETE alone", n))
	}
	if report.Omitted != (runprogress.Omitted{}) || len(report.Facts) == 0 {
		problems = append(problems, fmt.Errorf("%d facts, omitted %+v, want all of them", len(report.Facts), report.Omitted))
	}
	return fmt.Sprintf("%d facts, %d absences, %d bytes of text", len(report.Facts), len(report.Absences), len(report.Text())), errors.Join(problems...)
}

// checkKeys asks the server itself, where there is one. Each run has its ledger, each admission its record and no more, and each key a life.
func (d *demo) checkKeys(ctx context.Context) (string, error) {
	keys, err := d.place.Keys(ctx, d.runs)
	if err != nil {
		return "", err
	}
	var problems []error
	present := map[string]bool{}
	records := 0
	for _, key := range keys {
		present[key.Name] = true
		if strings.HasPrefix(key.Name, place.PrefixOf(d.run.Key())+"call:") {
			records++
		}
		if key.TTL <= 0 {
			problems = append(problems, fmt.Errorf("the key %s has no expiry", key.Name))
		}
	}
	for _, name := range d.wantedKeys() {
		if !present[name] {
			problems = append(problems, fmt.Errorf("the key %s is missing", name))
		}
	}
	if records != d.script.admitted() {
		problems = append(problems, fmt.Errorf("%d records, want %d", records, d.script.admitted()))
	}
	if d.options.Keep {
		d.document.Kept, d.document.LookWith, d.document.NeedsPassword = keys, d.look(), d.place.NeedsPassword()
	}
	return fmt.Sprintf("%d keys, %d of them records", len(keys), records), errors.Join(problems...)
}

// wantedKeys are the ledger of each run and the record of each call that was let through.
func (d *demo) wantedKeys() []string {
	var want []string
	for _, run := range d.runs {
		want = append(want, place.PrefixOf(run)+"run")
	}
	for i, o := range d.outcomes {
		if o.Execution() != lifecycle.NotStarted {
			want = append(want, place.RecordOf(d.run.Key(), d.nameOfSent(i)))
		}
	}
	return want
}

// checkShutdown ends the boundary, which lists what it could not store.
func (d *demo) checkShutdown(ctx context.Context) (string, error) {
	return "the boundary is shut down", d.boundary.Shutdown(ctx)
}

// checkRemoved takes the keys away and looks again. With Keep there is nothing to check.
func (d *demo) checkRemoved(ctx context.Context) (string, error) {
	if d.options.Keep {
		return "", nil
	}
	if err := d.place.Outside.Remove(ctx, d.runs); err != nil {
		return "", err
	}
	d.options.afterRemoval(ctx, slices.Clone(d.runs))
	left, err := d.place.Outside.Keys(ctx, d.runs)
	if err != nil {
		return "", err
	}
	d.removed = len(left) == 0
	if !d.removed {
		return "", fmt.Errorf("%d keys are left", len(left))
	}
	return "its keys are removed", nil
}
