package records

import (
	"context"
	"encoding/json"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/retrieval"
)

// quietFact is a fact in a form that redaction reads as a name with its value.
type quietFact struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// quietFacts are facts as they may be shown. A projector turns whatever a tool returned into facts, credentials too.
func (r *Reader) quietFacts(ctx context.Context, facts []evidence.Fact) ([]evidence.Fact, error) {
	list := make([]quietFact, len(facts))
	for i, f := range facts {
		list[i] = quietFact{f.Subject.Kind, f.Subject.ID, f.Predicate, f.Value}
	}
	if err := r.quiet(ctx, &list); err != nil {
		return nil, err
	}
	shown := make([]evidence.Fact, len(list))
	for i, f := range list {
		shown[i] = evidence.Fact{Subject: evidence.Subject{Kind: f.Kind, ID: f.ID}, Predicate: f.Name, Value: f.Value}
	}
	return shown, nil
}

// quietCoverage is a coverage as it may be shown. What was looked for is what a model asked for.
func (r *Reader) quietCoverage(ctx context.Context, c evidence.Coverage) (evidence.Coverage, error) {
	err := r.quiet(ctx, &c)
	return c, err
}

// quiet redacts a value in its JSON form. A failure withholds it.
func (r *Reader) quiet(ctx context.Context, value any) error {
	encoded, err := json.Marshal(value)
	if err == nil {
		var view redact.View
		if view, err = r.redactor.Redact(ctx, redact.Result, encoded); err == nil {
			err = json.Unmarshal(view.Text, value)
		}
	}
	if err != nil {
		return &retrieval.Error{Op: "record", Field: "facts and coverage", Err: retrieval.ErrWithheld}
	}
	return nil
}
