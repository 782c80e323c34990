package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolharness/harness/canonical"
)

// checkVerdicts holds what became of each search against the script.
func (d *demo) checkVerdicts(context.Context) (string, error) {
	var problems []error
	count := map[bool]int{}
	for _, m := range d.document.Messages {
		for _, s := range m.Calls {
			count[s.WantCode == ""]++
			if !s.AsItMust() {
				problems = append(problems, fmt.Errorf("%s: got %s %s, ran %s, want %s %s",
					label(s.name()), orNone(string(s.Evidence)), orNone(string(s.Code)), orNone(s.Ran), s.WantEvidence, orNone(string(s.WantCode))))
			}
		}
	}
	return fmt.Sprintf("%d calls of %d messages READY, %d an error", count[true], len(d.document.Messages), count[false]), errors.Join(problems...)
}

// name is the name of a call.
func (c Call) name() canonical.CallName { return canonical.CallName{Turn: c.Turn, ID: c.ID} }

// checkTogether asks the tools themselves whether they met, and the answers whose they are.
func (d *demo) checkTogether(context.Context) (string, error) {
	var problems []error
	var asked []canonical.CallName
	for _, m := range d.script.messages {
		var names []canonical.CallName
		for i := range m.searches {
			names = append(names, m.name(i))
		}
		asked = append(asked, names...)
		slices.Reverse(names)
		atOnce, ended := d.together.met(m.turn)
		if !atOnce {
			problems = append(problems, fmt.Errorf("the tools of %s were not all entered before the first of them ended", m.turn))
		} else if !slices.Equal(ended, names) {
			problems = append(problems, fmt.Errorf("the tools of %s did not end in the reverse of the order asked", m.turn))
		}
	}
	if !slices.Equal(d.answered, asked) {
		problems = append(problems, errors.New("the answers are not in the order asked"))
	}
	return fmt.Sprintf("%d messages, %d answers; the tools ended in reverse", len(d.script.messages), len(asked)), errors.Join(problems...)
}

// checkTurns looks for each id in every turn that used it: each time a record of its own, with what was sent that time.
func (d *demo) checkTurns(ctx context.Context) (string, error) {
	var problems []error
	type own struct {
		evidence  canonical.EvidenceID
		operation string
		seq       int64
	}
	turns := map[canonical.ToolCallID][]own{}
	for _, m := range d.script.messages {
		for i, s := range m.searches {
			record, err := d.record(ctx, m.name(i))
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", label(m.name(i)), err))
				continue
			}
			if string(record.Request) != s.arguments {
				problems = append(problems, fmt.Errorf("%s has the request of another call", label(m.name(i))))
			}
			is := own{record.EvidenceID, record.OperationKey, record.Seq}
			for _, other := range turns[callID(i)] {
				if other.evidence == is.evidence || other.operation == is.operation || other.seq >= is.seq {
					problems = append(problems, fmt.Errorf("%s is the same call as one of an earlier turn", label(m.name(i))))
				}
			}
			turns[callID(i)] = append(turns[callID(i)], is)
		}
	}
	calls, again := 0, 0
	for _, list := range turns {
		calls += len(list)
		if len(list) > 1 {
			again++
		}
	}
	return fmt.Sprintf("%d ids used again in other turns, %d calls, as many records", again, calls), errors.Join(problems...)
}
