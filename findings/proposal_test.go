package findings_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/findings"
)

// kept is a paused proposal after it was stored and read again.
func kept(t testing.TB, w *findings.Witness, emitted string) *findings.Proposal {
	t.Helper()
	p, err := findings.Propose(w, call("paused").Call, "query", request(t, emitted))
	if err != nil {
		t.Fatal(err)
	}
	text, err := findings.EncodeProposal(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "sekret") {
		t.Errorf("an argument is stored: %s", text)
	}
	again, err := findings.DecodeProposal(text)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestResume(t *testing.T) {
	t.Parallel()
	const emitted = `{"q":"sekret","_findings":{"previous":[{"toolCallId":"found","standing":"fact"}]}}`
	const unserved = `{"_findings":{"previous":[{"toolCallId":"later","standing":"fact"}]}}`
	const plain = `{"q":1}`
	w := witness(t, mixed(t))
	for _, c := range []struct {
		name     string
		proposal *findings.Proposal
		call     canonical.Identity
		tool     string
		emitted  string
		want     string
	}{
		{"F30_with_its_own_witness", kept(t, w, emitted), call("paused"), "query", emitted, "-fact"},
		{"F30_without_a_citation", kept(t, w, plain), call("paused"), "query", plain, ""},
		{"F30_missing", nil, call("paused"), "query", emitted, "NO_PROPOSAL NO_PROPOSAL"},
		{"F30_missing_and_without_a_citation", nil, call("paused"), "query", plain, "NO_PROPOSAL"},
		{"F30_zero", &findings.Proposal{}, call("paused"), "query", plain, "NO_PROPOSAL"},
		{"F30_of_another_call", kept(t, w, emitted), call("other"), "query", emitted, "OTHER_PROPOSAL OTHER_PROPOSAL"},
		{"F30_of_another_run", kept(t, w, emitted), in(other, "paused"), "query", emitted, "OTHER_PROPOSAL OTHER_PROPOSAL"},
		{"F30_of_another_tenant", kept(t, w, emitted), in(canonical.RunKey{Scope: canonical.Scope{Tenant: "t2"}, Run: "now"}, "paused"), "query", emitted, "OTHER_PROPOSAL OTHER_PROPOSAL"},
		{"F30_of_another_tool", kept(t, w, emitted), call("paused"), "drop", emitted, "OTHER_PROPOSAL OTHER_PROPOSAL"},
		{"F30_of_other_bytes", kept(t, w, emitted), call("paused"), "query", strings.Replace(emitted, `"q"`, `"Q"`, 1), "OTHER_PROPOSAL OTHER_PROPOSAL"},
		{"F30_later_history_grants_nothing", kept(t, w, unserved), call("paused"), "query", unserved, "NOT_SERVED"},
		{"F30_malformed_stays_refused", kept(t, w, `{"_findings":7}`), call("paused"), "query", `{"_findings":7}`, "MALFORMED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			parts, a, err := findings.Resume(c.proposal, c.call, c.tool, request(t, c.emitted))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "verdicts", reasons(a), c.want)
			same(t, "arguments", strings.Contains(string(parts.Arguments.Bytes()), "_findings"), false)
		})
	}
	// The same history, served again in a new request, makes a witness of its own.
	now := witness(t, executed("later"))
	same(t, "F29", reasons(findings.Admit(now, cite(findings.StandingFact, "later"))), "-fact")
	if _, err := findings.Propose(nil, call("p").Call, "query", request(t, plain)); err == nil {
		t.Error("a proposal without a witness was kept")
	}
	full := witness(t, executed(ids(4097)...))
	_, a, err := findings.Resume(kept(t, full, emitted), call("paused"), "query", request(t, emitted))
	same(t, "F16: an oversized witness stays one", []any{reasons(a), err}, []any{"WITNESS_OVERFLOW", nil})
}

// The stored witness is as small as its proposal, and judges as the whole one does.
func TestF30_the_reduced_witness_judges_alike(t *testing.T) {
	t.Parallel()
	w := witness(t, mixed(t))
	for _, id := range []string{"found", "older", "twice", "rewritten", "ticket", "absent", "open", "failed", "gone", "corrupt", "unread",
		"notice", "unsaid", "earlier", "foreign", "tenant", "marks", "unmarked", "windowed", "never"} {
		for _, standing := range []findings.Standing{"fact", "ruled-out", "open"} {
			emitted := fmt.Sprintf(`{"_findings":{"previous":[{"toolCallId":%q,"standing":%q},{"toolCallId":%q}]}}`, id, standing, id)
			parts, got, err := findings.Resume(kept(t, w, emitted), call("paused"), "query", request(t, emitted))
			if err != nil {
				t.Fatal(err)
			}
			same(t, id, fmt.Sprintf("%#v", got.Verdicts), fmt.Sprintf("%#v", findings.Admit(w, parts.Declaration).Verdicts))
		}
	}
}

func storedWitness(t *testing.T) string {
	t.Helper()
	text, err := findings.EncodeWitness(witness(t, mixed(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestF30_stored_witnesses_are_the_same(t *testing.T) {
	t.Parallel()
	text := storedWitness(t)
	w, err := findings.DecodeWitness([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := findings.EncodeWitness(w, nil)
	same(t, "bytes", []any{string(again), err}, []any{text, nil})
	if strings.Contains(text, "t1") {
		t.Error("the tenant is spelled out")
	}
	same(t, "of its run", []any{w.Of(run), w.Of(other), w.Of(canonical.RunKey{Scope: canonical.Scope{Owner: "t1"}, Run: "now"}), w.Run()}, []any{true, false, false, "now"})
	if _, err := findings.EncodeWitness(nil, nil); err == nil {
		t.Error("no witness was stored")
	}
}

// What is stored carries no signature. A host that changes it is believed.
func TestF33_stored_witnesses_are_trusted(t *testing.T) {
	t.Parallel()
	text := storedWitness(t)
	forged := strings.Replace(text, `"notice","times":1,"marks":1,"run":"now","call":":notice","dispatch":"not_dispatched"`, `"notice","times":1,"marks":1,"run":"now","call":":notice","dispatch":"executed"`, 1)
	w, err := findings.DecodeWitness([]byte(forged))
	if err != nil || forged == text {
		t.Fatal(err)
	}
	same(t, "forged", reasons(findings.Admit(w, cite(findings.StandingFact, "notice"))), "-fact")
}

func TestF30_DecodeWitness_refuses(t *testing.T) {
	t.Parallel()
	scope := strings.Repeat("a", 32)
	entry := func(fields string) string {
		return `{"v":1,"run":"r","scope":"` + scope + `","entries":[{` + fields + `}]}`
	}
	marked := `"id":"a","times":1,"marks":1,"run":"r","call":":a","dispatch":"executed","body":"served"`
	if _, err := findings.DecodeWitness([]byte(entry(marked + `,"record":{"state":"READY","status":"EVIDENCE_FOUND"}`))); err != nil {
		t.Fatal(err)
	}
	coverage := `{"looked_for":"x","checked":["y"],"complete":true}`
	for _, text := range []string{
		``, `7`, `{}`, `{"v":1}`, `{"v":1,"run":"r"}`, `{"v":1,"run":"no good","scope":"` + scope + `"}`, `{"v":1,"run":"r","scope":"` + scope + `","gap":"NONE"}`,
		`{"v":1,"run":"r","scope":"` + strings.ToUpper(scope) + `"}`, `{"v":1,"run":"r","scope":"` + scope + `","extra":1}`,
		strings.Replace(entry(marked), `"scope"`, `"gap":"WITNESS_OVERFLOW","scope"`, 1),
		entry(`"id":"","times":1,"marks":0,"body":"unknown"`), entry(`"id":"a","times":0,"marks":0,"body":"unknown"`), entry(`"id":"a","times":1,"marks":-1,"body":"unknown"`),
		entry(`"id":"a","times":1,"marks":0,"body":"seen"`), entry(`"id":"a","times":1,"marks":0,"body":"unknown","dispatch":"executed"`),
		entry(`"id":"a","times":1,"marks":2,"body":"unknown","run":"r"`), entry(strings.Replace(marked, "executed", "done", 1)),
		entry(strings.Replace(marked, ":a", ":b", 1)), entry(strings.Replace(marked, `"run":"r"`, `"run":""`, 1)),
		entry(marked + `,"foreign":true,"record":{"state":"READY","status":"EVIDENCE_FOUND"}`),
		entry(marked + `,"record":{"state":"READY"}`), entry(marked + `,"record":{"state":"ERROR","status":"EVIDENCE_FOUND"}`),
		entry(marked + `,"record":{"state":"READY","status":"NO_EVIDENCE"}`), entry(marked + `,"record":{"state":"READY","status":"EVIDENCE_FOUND","coverage":` + coverage + `}`),
		entry(marked + `,"record":{"state":"READY","status":"NO_EVIDENCE","coverage":` + strings.Replace(coverage, "true", "false", 1) + `}`),
		entry(marked + `,"record":{"unreadable":true,"state":"READY","status":"EVIDENCE_FOUND"}`),
		entry(marked + `},{` + marked), entry(`"id":"a","times":65537,"marks":0,"body":"unknown"`), entry(`"id":"a","times":9223372036854775807,"marks":0,"body":"unknown"},{"id":"b","times":1,"marks":0,"body":"unknown"`),
		entry(`"id":"` + strings.Repeat("x", 65537) + `","times":1,"marks":0,"body":"unknown"`),
	} {
		w, err := findings.DecodeWitness([]byte(text))
		var code *findings.CodeError
		if w != nil || !errors.As(err, &code) {
			t.Errorf("%s: got %v, %v", text[:min(len(text), 160)], w, err)
		}
	}
	_, err := findings.DecodeWitness([]byte(`{"v":2}`))
	same(t, "newer", errors.Is(err, canonical.ErrNewerVersion), true)
	same(t, "then every citation is refused", reasons(findings.Admit(nil, cite("", "a"))), "NO_WITNESS")
}

// Whatever single byte of a stored proposal is lost or changed, it is read as
// another proposal, or not at all, and never panics.
func TestF30_spoiled_proposals(t *testing.T) {
	t.Parallel()
	const emitted = `{"_findings":{"previous":[{"toolCallId":"never-served","standing":"fact"}]}}`
	p, err := findings.Propose(witness(t, executed("found")), call("paused").Call, "query", request(t, emitted))
	if err != nil {
		t.Fatal(err)
	}
	text, err := findings.EncodeProposal(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		for _, spoiled := range [][]byte{text[:i], append(append([]byte{}, text[:i]...), text[i+1:]...), append(append(append([]byte{}, text[:i]...), text[i]^1), text[i+1:]...)} {
			p, err := findings.DecodeProposal(spoiled)
			if err != nil {
				p = nil
			}
			if err == nil && !jsontext.Value(spoiled).IsValid() {
				t.Fatalf("byte %d: was read though it is no JSON", i)
			}
			if _, a, _ := findings.Resume(p, call("paused"), "query", request(t, emitted)); !a.Refused() {
				t.Fatalf("byte %d: %s was granted", i, spoiled)
			}
		}
	}
	for _, text := range []string{`{"v":1}`, `{"v":1,"call":":p","tool":"","emitted":"","witness":{}}`, `{"v":1,"call":":p","tool":"q","emitted":"` + strings.Repeat("a", 64) + `","witness":{"v":2}}`} {
		if p, err := findings.DecodeProposal([]byte(text)); p != nil || err == nil {
			t.Errorf("%s: got %v, %v", text, p, err)
		}
	}
}
