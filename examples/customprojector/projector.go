// Package customprojector is the README's projector for a tool of one's own: a
// service that answers {"status":"ok","orders":[...]}.
package customprojector

// README:start
import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// Orders counts the orders, shows what fits, and tells absence from failure.
func Orders(_ context.Context, in projector.Input) (projector.Projection, error) {
	var answer struct {
		Status string
		Orders []json.RawMessage
	}
	if json.Unmarshal(in.Raw, &answer) != nil || answer.Status != "ok" || answer.Orders == nil {
		return projector.Projection{}, errors.New("not an answer of the order service") // never "no orders"
	}
	list := projector.NewList(in.Limits.AgentBytes)
	for _, order := range answer.Orders {
		list.Add(order) // what does not fit is counted as omitted
	}
	count := evidence.NewFact(evidence.Subject{Kind: "service", ID: "orders"}, "returned", fmt.Sprint(len(answer.Orders)))
	p := projector.Projection{Result: list.JSON(), Status: evidence.Found, Facts: []evidence.Fact{count}}
	if len(answer.Orders) == 0 {
		p.Status, p.Facts, p.Coverage = evidence.None, nil, evidence.Searched(evidence.Line(string(in.Request), 200), "orders")
	}
	return p, list.Err()
}

// README:end
