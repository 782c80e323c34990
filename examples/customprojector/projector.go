// Package customprojector is the README's projector for a tool of one's own: a
// service that answers {"status":"ok","orders":[...]}.
package customprojector

// README:start
import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// Orders counts the orders, shows what fits, and tells absence from failure.
func Orders(_ context.Context, in projector.Input) (projector.Projection, error) {
	var answer struct {
		Status string
		Orders []json.RawMessage
	}
	if json.Unmarshal(in.Raw, &answer) != nil || answer.Status != "ok" {
		return projector.Projection{}, errors.New("the order service failed") // never "no orders"
	}
	list := projector.NewList(in.Limits.AgentBytes)
	for _, order := range answer.Orders {
		list.Add(order) // what does not fit is counted as omitted
	}
	p := projector.Projection{Result: list.JSON(), Status: evidence.Found}
	if len(answer.Orders) == 0 {
		p.Status, p.Coverage = evidence.None, evidence.Searched(evidence.Line(string(in.Request), 200), "orders")
	}
	return p, list.Err()
}

// README:end
