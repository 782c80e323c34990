package findings_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
)

// FuzzAdmit makes a capture of any bytes and compares every verdict with a model
// that shares no code: it walks the lists once for each citation.
func FuzzAdmit(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}, []byte("abcabc"))
	f.Add([]byte{5, 200, 7, 31, 8, 8, 8, 64, 255, 254, 9, 9, 1, 0, 0, 13}, []byte("aab"))
	f.Add([]byte{}, []byte("z"))
	f.Fuzz(func(t *testing.T, host, sent []byte) {
		c := fuzzed(host, sent)
		w, err := findings.NewWitness(c)
		if err != nil {
			return // no witness: TestNewWitness has what that means
		}
		for _, id := range strings.Split("a b c d e f  zz aa", " ") {
			for _, standing := range []findings.Standing{"fact", "ruled-out", "open", "noise", ""} {
				v := findings.Admit(w, cite(standing, id)).Verdicts[0]
				want := modelled(c, id, standing)
				if got := v.Refused == ""; got != (want != "") || got && string(v.Backing) != want {
					t.Errorf("%q as %q: got %q backing %q, the model backs %q", id, standing, v.Refused, v.Backing, want)
				}
				if (v.Refused == "") == (v.Backing == "") {
					t.Errorf("%q: refused %q and backing %q", id, v.Refused, v.Backing)
				}
			}
		}
		sameWhenStored(t, w)
	})
}

func sameWhenStored(t *testing.T, w *findings.Witness) {
	t.Helper()
	text, err := findings.EncodeWitness(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := findings.DecodeWitness(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	d := cite(findings.StandingFact, "a", "b", "c", "d", "e", "f", "zz")
	same(t, "stored", fmt.Sprintf("%#v", findings.Admit(again, d).Verdicts), fmt.Sprintf("%#v", findings.Admit(w, d).Verdicts))
}

// fuzzed reads sent as ids, one letter each, and host as marks and records of
// three bytes each.
func fuzzed(host, sent []byte) findings.Capture {
	c := findings.Capture{Run: run, Continues: []canonical.RunID{"before"}}
	for _, b := range sent {
		id := string(rune('a' + b%8))
		if b%8 == 7 {
			id = ""
		}
		c.Served = append(c.Served, findings.Served{ID: id, Texts: []string{findings.TextDigest([]byte{b})}})
	}
	for ; len(host) >= 3; host = host[3:] {
		id := in([]canonical.RunKey{run, {Scope: run.Scope, Run: "before"}, other, {Scope: canonical.Scope{Owner: "o"}, Run: "now"}}[host[1]%4], string(rune('a'+host[0]%8)))
		id.Call.Turn = canonical.Turn([]string{"", "t1"}[host[1]/4%2])
		if host[2]%2 == 0 {
			c.Marks = append(c.Marks, findings.Mark{Call: id, Dispatch: []findings.Dispatch{findings.Executed, findings.NotDispatched, ""}[host[2]/2%3], Text: findings.TextDigest(host[:1])})
			continue
		}
		r := findings.Record{Call: id, State: []lifecycle.State{lifecycle.Ready, lifecycle.Ready, lifecycle.Error, lifecycle.Projecting, ""}[host[2]/2%5]}
		switch {
		case host[2]/16%4 == 3:
			r.State, r.Unreadable = "", true
		case r.State == lifecycle.Ready && host[2]/16%2 == 0:
			r.Status, r.Coverage = evidence.None, evidence.Searched("x", "y")
		case r.State == lifecycle.Ready:
			r.Status = evidence.Found
		}
		c.Records = append(c.Records, r)
	}
	return c
}

// modelled is what a citation backs, empty when it must be refused.
func modelled(c findings.Capture, id string, standing findings.Standing) string {
	if id == "" {
		return ""
	}
	results, marks := 0, 0
	var mark findings.Mark
	for _, s := range c.Served {
		if s.ID == id {
			results++
		}
	}
	for _, m := range c.Marks {
		if string(m.Call.Call.ID) == id {
			marks++
			mark = m
		}
	}
	if results != 1 || marks != 1 || mark.Dispatch != "executed" || mark.Call.Scope != c.Run.Scope {
		return ""
	}
	if mark.Call.Run != "now" && mark.Call.Run != "before" {
		return ""
	}
	if standing != "fact" && standing != "ruled-out" {
		return "identity"
	}
	for _, r := range c.Records {
		if r.Call == mark.Call && r.State == "READY" && !r.Unreadable {
			return map[evidence.Status]string{"EVIDENCE_FOUND": "fact", "NO_EVIDENCE": "absence"}[r.Status]
		}
	}
	return ""
}

// FuzzSplit: what is left of a request is the request without the member, as the
// standard library reads it, and longer by nothing; nothing is cited that the
// member does not spell.
func FuzzSplit(f *testing.F) {
	for _, v := range vectors.JSONTestSuite(f) {
		f.Add(fmt.Appendf(nil, `{"a":%s , "_findings":{"previous":[{"toolCallId":"x"}]},"b":1}`, v.Bytes))
		f.Add(fmt.Appendf(nil, `{"_findings":%s}`, v.Bytes))
	}
	f.Add([]byte(` { "a" : 1.50 , "\u005ffindings" : { "previous" : [ { "toolCallId" : "\u0061" } ] } } `))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := canonical.ParseRequest(text, canonical.MaxRequestBytes)
		if err != nil {
			return
		}
		parts, err := findings.Split(r)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(text, &before) != nil || json.Unmarshal(parts.Arguments.Bytes(), &after) != nil {
			t.Fatalf("%q became %q", text, parts.Arguments.Bytes())
		}
		value, had := before["_findings"]
		delete(before, "_findings")
		same(t, "members", fmt.Sprintf("%q", after), fmt.Sprintf("%q", before))
		if !had {
			same(t, "bytes", string(parts.Arguments.Bytes()), string(text))
		}
		if !subsequence(parts.Arguments.Bytes(), text) {
			t.Errorf("%q became %q", text, parts.Arguments.Bytes())
		}
		if !had && parts.Declaration.Cites() || len(parts.Declaration.Previous) > strings.Count(string(value), "{") {
			t.Errorf("%q cites %d", text, len(parts.Declaration.Previous))
		}
	})
}

func subsequence(part, whole []byte) bool {
	for _, b := range whole {
		if len(part) > 0 && part[0] == b {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// FuzzAnswer: an answer in which a strict reader finds the member on top is judged
// as a request of the same text is.
func FuzzAnswer(f *testing.F) {
	for _, v := range vectors.JSONTestSuite(f) {
		f.Add(fmt.Appendf(nil, `{"_findings":%s}`, v.Bytes))
	}
	f.Add([]byte("text ```json\n{\"_findings\":{\"previous\":[{\"toolCallId\":\"a\"}]}}\n```"))
	f.Add([]byte(`{"_findings":{"previous":[{"toolCallId":"made-up"}]},}`))
	w := witness(f, executed("a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := findings.AdmitAnswer(w, findings.RawAnswer, text)
		if (err != nil) != a.Refused() {
			t.Errorf("%q: refused %t, error %v", text, a.Refused(), err)
		}
		r, parseErr := canonical.ParseRequest(text, canonical.MaxRequestBytes)
		if parseErr != nil {
			return
		}
		parts, splitErr := findings.Split(r)
		same(t, "as a request", []any{reasons(findings.Admit(w, parts.Declaration)), splitErr}, []any{reasons(a), nil})
	})
}

// FuzzDecode: stored forms that are read are read whole, and are the same when
// they are written again; with none of them anything panics.
func FuzzDecode(f *testing.F) {
	w := witness(f, executed("a", "b", "b"))
	stored, _ := findings.EncodeWitness(w, nil)
	f.Add(stored)
	var l findings.Ledger
	l.File(proposal("p"), findings.Admit(w, cite(findings.StandingFact, "a", "b")))
	ledger, _ := findings.EncodeLedger(&l, nil)
	f.Add(ledger)
	p, _ := findings.Propose(w, call("p").Call, "q", request(f, `{"_findings":{"previous":[{"toolCallId":"a"}]}}`))
	paused, _ := findings.EncodeProposal(p, nil)
	f.Add(paused)
	f.Fuzz(func(t *testing.T, text []byte) {
		if w, err := findings.DecodeWitness(text); err == nil {
			sameWhenStored(t, w)
		}
		if l, err := findings.DecodeLedger(text); err == nil {
			first := encoded(t, l, nil)
			again, err := findings.DecodeLedger(first)
			if err != nil {
				t.Fatalf("%s: %v", first, err)
			}
			same(t, "ledger", string(encoded(t, again, nil)), string(first))
			_ = l.Text()
		}
		if p, err := findings.DecodeProposal(text); err == nil {
			first, err := findings.EncodeProposal(*p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := findings.DecodeProposal(first); err != nil {
				t.Fatalf("%s: %v", first, err)
			}
		}
	})
}
