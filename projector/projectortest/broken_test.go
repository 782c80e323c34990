package projectortest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// answerOf is the raw form of an invented search service.
type answerOf struct {
	Hits []struct {
		ID    string      `json:"id"`
		Score json.Number `json:"score"`
		Text  string      `json:"text"`
	} `json:"hits"`
	Done *bool `json:"done"`
}

// search is a correct projector; the broken ones below differ from it in one
// thing each.
func search(_ context.Context, in projector.Input) (projector.Projection, error) {
	a, err := parse(in.Raw)
	if err != nil {
		return projector.Projection{}, err
	}
	list := projector.NewList(in.Limits.AgentBytes)
	for _, hit := range a.Hits {
		hit.Text = evidence.Clip(hit.Text, 300)
		list.Add(hit)
	}
	p := projector.Projection{Result: list.JSON(), Status: evidence.Found, Coverage: evidence.Searched("", "docs")}
	p.Coverage.Complete = *a.Done
	if len(a.Hits) == 0 {
		p.Status = evidence.None
		if !*a.Done {
			return projector.Projection{}, errors.New("the search did not end")
		}
	}
	if in.Limits.FactsBytes < 200 {
		return projector.Projection{}, errors.New("no room for facts")
	}
	return p, list.Err()
}

func parse(raw []byte) (answerOf, error) {
	var a answerOf
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, err
	}
	if a.Hits == nil || a.Done == nil {
		return a, errors.New("not an answer of the search service")
	}
	return a, nil
}

func searchCases() []Case {
	return []Case{
		{Name: "found", Raw: []byte(`{"hits":[{"id":"a","score":9007199254740993,"text":"first"},{"id":"b","score":0.10,"text":"sécond"}],"done":true}`), Want: evidence.Found},
		{Name: "many", Raw: []byte(`{"hits":[` + strings.Repeat(`{"id":"é","score":1,"text":"some more text about it"},`, 100) + `{"id":"z","score":2}],"done":true}`), Want: evidence.Found},
		{Name: "none", Raw: []byte("{\"hits\":[],\"done\":true}\n"), Want: evidence.None},
		{Name: "cut off", Raw: []byte(`{"hits":[],"done":false}`), Want: evidence.Failed},
		{Name: "outage", Raw: []byte(`{"error":"index is down"}`), Want: evidence.Failed},
	}
}

// after changes the answer of the correct projector.
func after(change func(in projector.Input, p *projector.Projection)) projector.Func {
	return func(ctx context.Context, in projector.Input) (projector.Projection, error) {
		p, err := search(ctx, in)
		if err == nil {
			change(in, &p)
		}
		return p, err
	}
}

// insteadOfErrors answers where the correct projector returns an error.
func insteadOfErrors(answer func(ctx context.Context, in projector.Input) (projector.Projection, error)) projector.Func {
	return func(ctx context.Context, in projector.Input) (projector.Projection, error) {
		if p, err := search(ctx, in); err == nil {
			return p, nil
		}
		return answer(ctx, in)
	}
}

func absent() projector.Projection {
	return projector.Projection{Result: []byte(`{"items":[]}`), Status: evidence.None, Coverage: evidence.Searched("", "docs")}
}

// broken are projectors that the suite must reject, each by the named check at
// least. release lets those that block end with the test.
func broken(release <-chan struct{}) map[string]struct {
	check string
	p     projector.Projector
} {
	var calls atomic.Int64
	type rejected = struct {
		check string
		p     projector.Projector
	}
	return map[string]rejected{
		"no status":                {"verdict", after(func(_ projector.Input, p *projector.Projection) { p.Status = "" })},
		"always found":             {"verdict", after(func(_ projector.Input, p *projector.Projection) { p.Status = evidence.Found })},
		"absence without coverage": {"verdict", after(func(_ projector.Input, p *projector.Projection) { p.Coverage = evidence.Coverage{} })},
		"empty result":             {"verdict", after(func(_ projector.Input, p *projector.Projection) { p.Result = nil })},
		"fact of two lines": {"verdict", after(func(_ projector.Input, p *projector.Projection) {
			if p.Status == evidence.Found {
				p.Facts = []evidence.Fact{{Subject: evidence.Subject{Kind: "k"}, Predicate: "p", Value: "a\nb"}}
			}
		})},
		"unfinished search as absence": {"verdict", insteadOfErrors(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			if bytes.Contains(in.Raw, []byte(`"done":false`)) {
				return absent(), nil
			}
			return projector.Projection{}, errors.New("unreadable")
		})},
		"counts its calls": {"pure", after(func(_ projector.Input, p *projector.Projection) {
			p.Result = fmt.Appendf(nil, `{"call":%d}`, calls.Add(1))
		})},
		"reads the clock": {"pure", after(func(_ projector.Input, p *projector.Projection) { p.Result = fmt.Appendf(nil, `{"at":%q}`, time.Now()) })},
		"order of a map": {"pure", after(func(_ projector.Input, p *projector.Projection) {
			p.Result = nil
			for name := range map[string]bool{"a": true, "b": true, "c": true, "d": true} {
				p.Result = append(p.Result, name...)
			}
		})},
		"facts from a counter": {"pure", after(func(_ projector.Input, p *projector.Projection) {
			if p.Status == evidence.Found {
				p.Facts = []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "k"}, "p", fmt.Sprint(calls.Add(1)))}
			}
		})},
		"clears the raw":     {"input", after(func(in projector.Input, _ *projector.Projection) { clear(in.Raw) })},
		"lowers the request": {"input", after(func(in projector.Input, _ *projector.Projection) { in.Request[0] = ' ' })},
		"ignores the limit": {"bounded", projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
			in.Limits.AgentBytes = projector.DefaultAgentBytes
			return search(ctx, in)
		})},
		"cuts silently": {"bounded", after(func(in projector.Input, p *projector.Projection) {
			var result struct{ Items []json.RawMessage }
			if json.Unmarshal(p.Result, &result) == nil {
				p.Result, _ = json.Marshal(map[string]any{"items": result.Items})
			}
		})},
		"cuts inside a rune": {"bounded", projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
			limit := in.Limits.AgentBytes
			in.Limits.AgentBytes = projector.DefaultAgentBytes
			p, err := search(ctx, in)
			p.Result = p.Result[:min(len(p.Result), limit)]
			return p, err
		})},
		"all or nothing": {"bounded", projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
			limit := in.Limits.AgentBytes
			in.Limits.AgentBytes = projector.DefaultAgentBytes
			p, err := search(ctx, in)
			if err == nil && len(p.Result) > limit {
				return projector.Projection{}, errors.New("too large")
			}
			return p, err
		})},
		"other status when cut": {"bounded", after(func(in projector.Input, p *projector.Projection) {
			if in.Limits.AgentBytes < 1000 {
				*p = absent()
			}
		})},
		"facts over their limit": {"bounded", after(func(in projector.Input, p *projector.Projection) {
			if p.Status == evidence.Found {
				p.Facts = []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "k"}, "p", strings.Repeat("v", 240))}
			}
		})},
		"half an answer when cancelled": {"cancellation", projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
			if ctx.Err() != nil {
				return absent(), nil
			}
			return search(ctx, in)
		})},
		"waits when cancelled": {"cancellation", projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
			if ctx.Err() != nil {
				<-release
			}
			return search(ctx, in)
		})},
		"panics on what it cannot read": {"hostile", insteadOfErrors(func(context.Context, projector.Input) (projector.Projection, error) { panic("unreadable") })},
		"index out of range": {"hostile", projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
			if in.Raw[0] == '[' {
				return projector.Projection{}, errors.New("an array")
			}
			return search(ctx, in)
		})},
		"ends its goroutine": {"hostile", insteadOfErrors(func(context.Context, projector.Input) (projector.Projection, error) {
			runtime.Goexit()
			return absent(), nil
		})},
		"never returns from a huge input": {"hostile", projector.Func(func(ctx context.Context, in projector.Input) (projector.Projection, error) {
			if len(in.Raw) >= 1<<20 {
				<-release
			}
			return search(ctx, in)
		})},
		"passes invalid UTF-8 on": {"hostile", insteadOfErrors(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: in.Raw[:min(len(in.Raw), in.Limits.AgentBytes)], Status: evidence.Found}, nil
		})},
		"unreadable as absence": {"absence", insteadOfErrors(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			if json.Valid(in.Raw) {
				return projector.Projection{}, errors.New("another shape")
			}
			return absent(), nil
		})},
		"null as absence": {"absence", insteadOfErrors(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			if string(in.Raw) == "null" {
				return absent(), nil
			}
			return projector.Projection{}, errors.New("unreadable")
		})},
		"error object as a result": {"absence", insteadOfErrors(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			if json.Valid(in.Raw) && bytes.Contains(in.Raw, []byte(`"status":"error"`)) {
				return projector.Projection{Result: in.Raw, Status: evidence.Found}, nil
			}
			return projector.Projection{}, errors.New("unreadable")
		})},
		"prints control characters": {"text", after(func(_ projector.Input, p *projector.Projection) {
			p.Result = bytes.ReplaceAll(p.Result, []byte(`\u202e`), []byte("\u202e"))
		})},
		"rounds numbers": {"digits", after(func(in projector.Input, p *projector.Projection) {
			var result map[string]any // numbers become float64
			if json.Unmarshal(p.Result, &result) == nil {
				p.Result, _ = json.Marshal(result)
			}
		})},
		"rounds numbers in facts": {"digits", after(func(in projector.Input, p *projector.Projection) {
			if a, err := parse(in.Raw); err == nil && len(a.Hits) > 0 {
				score, _ := a.Hits[0].Score.Float64()
				p.Facts = []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "k"}, "score", fmt.Sprintf("%.0f", score))}
			}
		})},
	}
}
