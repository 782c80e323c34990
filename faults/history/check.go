package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Check looks for one order of all operations that explains them. The result is
// porcupine.Unknown when limit is over before there is an answer.
func Check(history []Operation, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(Model(), prepare(history), limit)
}

// prepare turns a history into what the checker takes: every operation with the
// time in which it was decided, those without an answer open to the end.
func prepare(history []Operation) []porcupine.Operation {
	var last int64
	runs := map[int]bool{}
	for _, o := range history {
		last = max(last, o.End)
		runs[o.Input.Run] = true
	}
	var ops []porcupine.Operation
	for _, o := range without(history) {
		if !o.Answered() {
			o.End = last + 3
		}
		ops = append(ops, prepared(o))
	}
	for run := range runs {
		ops = append(ops, prepared(Operation{
			Client: conductor, Input: Input{Kind: end, Run: run}, Output: Output{Text: textDone}, Start: last + 1, End: last + 2,
		}))
	}
	return ops
}

func prepared(o Operation) porcupine.Operation {
	return porcupine.Operation{
		ClientId: o.Client, Call: o.Start, Return: o.End, Output: o.Output,
		Input: timed{Operation: o, from: o.Start/int64(time.Millisecond) - clockSlack, to: o.End/int64(time.Millisecond) + clockSlack},
	}
}

// without leaves out unanswered operations that can explain nothing: reads, and a
// message that was sent before without an answer, too. The first delivery may be
// placed wherever the second may, and a store that does anything on both is
// broken.
func without(history []Operation) []Operation {
	history = slices.Clone(history)
	slices.SortStableFunc(history, func(a, b Operation) int { return cmp.Compare(a.Start, b.Start) })
	sent := map[Input]bool{}
	return slices.DeleteFunc(history, func(o Operation) bool {
		if o.Answered() {
			return false
		}
		switch o.Input.Kind {
		case Inspect, Head, Outstanding, Settlement, SweptOut, Open:
			return true
		}
		again := sent[o.Input]
		sent[o.Input] = true
		return again
	})
}

// Explain writes the runs that no order explains, and how far the longest
// attempt came in each.
func Explain(history []Operation, limit time.Duration) string {
	var text strings.Builder
	for _, run := range byRun(prepare(history)) {
		model := Model()
		model.Partition = nil
		result, info := porcupine.CheckOperationsVerbose(model, run, limit)
		if result == porcupine.Ok || len(run) == 0 {
			continue
		}
		fmt.Fprintf(&text, "run %d: %s\n", run[0].Input.(timed).Input.Run, result)
		explainRun(&text, run, info)
	}
	return text.String()
}

func explainRun(text *strings.Builder, run []porcupine.Operation, info porcupine.LinearizationInfo) {
	var longest []porcupine.Operation
	for _, attempts := range info.PartialLinearizationsOperations() {
		for _, attempt := range attempts {
			if len(attempt) > len(longest) {
				longest = attempt
			}
		}
	}
	start := run[0].Call
	line := func(mark string, o porcupine.Operation) {
		fmt.Fprintf(text, "  %s %8.3f..%8.3f ms  %s\n", mark, float64(o.Call-start)/1e6, float64(o.Return-start)/1e6, o.Input.(timed))
	}
	for _, o := range longest {
		line("ok", o)
	}
	slices.SortFunc(run, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, o := range run {
		placed := slices.ContainsFunc(longest, func(p porcupine.Operation) bool { return p.Call == o.Call && p.ClientId == o.ClientId })
		if !placed {
			line("??", o)
		}
	}
}
