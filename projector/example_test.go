package projector_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// A projector for a search service that answers {"hits":[…],"total":n,"done":true}.
func Example() {
	type answer struct {
		Hits []struct {
			ID    string      `json:"id"`
			Score json.Number `json:"score"`
		} `json:"hits"`
		Done *bool `json:"done"`
	}
	search := projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		var a answer
		if err := json.Unmarshal(in.Raw, &a); err != nil {
			return projector.Projection{}, err
		}
		if a.Hits == nil || a.Done == nil { // an error object, or a shape we do not know
			return projector.Projection{}, errors.New("not an answer of the search service")
		}
		list := projector.NewList(in.Limits.AgentBytes)
		for _, hit := range a.Hits {
			list.Add(hit)
		}
		p := projector.Projection{Result: list.JSON(), Status: evidence.Found, Coverage: evidence.Searched(string(in.Request), "collection docs")}
		p.Coverage.Complete = *a.Done
		if len(a.Hits) == 0 {
			p.Status = evidence.None // refused by the driver unless the search ran to its end
		}
		return p, list.Err()
	})

	for _, raw := range []string{
		`{"hits":[{"id":"d1","score":0.10}],"done":true}`,
		`{"hits":[],"done":true}`,
		`{"hits":[],"done":false}`,
		`{"error":"index is down"}`,
	} {
		p, err := projector.Drive(context.Background(), search, projector.Input{Request: []byte(`{"q":"x"}`), Raw: []byte(raw)}, projector.Options{})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s %s\n", p.Status, p.Result)
	}
	// Output:
	// EVIDENCE_FOUND {"items":[{"id":"d1","score":0.10}],"returned":1,"omitted":0}
	// NO_EVIDENCE {"items":[],"returned":0,"omitted":0}
	// projector: invalid_status: coverage.complete
	// projector: failed
}
