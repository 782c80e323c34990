package findings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/lifecycle"
)

var (
	run   = canonical.RunKey{Scope: canonical.Scope{Tenant: "t1"}, Run: "now"}
	other = canonical.RunKey{Scope: canonical.Scope{Tenant: "t1"}, Run: "elsewhere"}
)

// call names a call of the run.
func call(id string) canonical.Identity {
	return canonical.Identity{RunKey: run, Call: canonical.CallName{ID: canonical.ToolCallID(id)}}
}

func in(run canonical.RunKey, id string) canonical.Identity {
	return canonical.Identity{RunKey: run, Call: canonical.CallName{ID: canonical.ToolCallID(id)}}
}

// textOf is the recorded text of a result.
func textOf(id string) string { return "result of " + id }

func served(ids ...string) []findings.Served {
	var all []findings.Served
	for _, id := range ids {
		all = append(all, findings.Served{ID: id, Texts: []string{findings.TextDigest([]byte(textOf(id)))}})
	}
	return all
}

func found(c canonical.Identity) findings.Record {
	return findings.Record{Call: c, State: lifecycle.Ready, Status: evidence.Found}
}

func absent(c canonical.Identity) findings.Record {
	coverage := evidence.Searched("errors of db1", "log topic app")
	coverage.Unchecked = []string{"log topic audit"}
	coverage.TryInstead = "search the audit topic"
	return findings.Record{Call: c, State: lifecycle.Ready, Status: evidence.None, Coverage: coverage}
}

// executed is a capture in which every id is a result of this run with a fact.
func executed(ids ...string) findings.Capture {
	c := findings.Capture{Run: run, Served: served(ids...)}
	seen := map[string]bool{}
	for _, id := range ids {
		if !seen[id] {
			c.Marks = append(c.Marks, findings.MarkExecuted(call(id), textOf(id)))
			c.Records = append(c.Records, found(call(id)))
		}
		seen[id] = true
	}
	return c
}

func witness(t testing.TB, c findings.Capture) *findings.Witness {
	t.Helper()
	w, err := findings.NewWitness(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func request(t testing.TB, text string) canonical.Request {
	t.Helper()
	r, err := canonical.ParseRequest([]byte(text), canonical.MaxRequestBytes)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// declared is the declaration of arguments with that reserved value.
func declared(t testing.TB, value string) findings.Declaration {
	t.Helper()
	parts, err := findings.Split(request(t, `{"_findings":`+value+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return parts.Declaration
}

// cite is a declaration of ids, all with one standing.
func cite(standing findings.Standing, ids ...string) findings.Declaration {
	var d findings.Declaration
	for _, id := range ids {
		d.Previous = append(d.Previous, findings.Citation{ID: id, Standing: standing})
	}
	return d
}

// reasons are the refusals in order, "-" for an admitted citation with its backing.
func reasons(a findings.Admission) string {
	var all []string
	for _, v := range a.Verdicts {
		if v.Refused == "" {
			all = append(all, "-"+string(v.Backing))
		} else {
			all = append(all, string(v.Refused))
		}
	}
	return strings.Join(all, " ")
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}
