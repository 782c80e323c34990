package findings_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
)

// kinds are the rows in short.
func kinds(l *findings.Ledger) string {
	var all []string
	for _, r := range l.Rows() {
		text := string(r.Kind)
		if r.Refused {
			text = "refused " + text
		}
		switch {
		case r.ID != "":
			text += " " + r.ID
		case len(r.Witnesses) > 0:
			text += " " + strings.Join(r.Witnesses, "/")
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func proposal(id string) findings.Origin { return findings.Origin{Call: call(id).Call} }

func TestT99_F21_F22_F40_a_refusal_leaves_two_rows(t *testing.T) {
	t.Parallel()
	w := witness(t, executed("a"))
	var l findings.Ledger
	d := declared(t, `{"basis":"direct","previous":[{"toolCallId":"a","standing":"fact"},{"toolCallId":"nowhere","standing":"fact","line":"it is 5"}]}`)
	l.File(proposal("p"), findings.Admit(w, d))
	same(t, "rows", kinds(&l), "refused basis, refused standing a, refused standing nowhere, refused refusal nowhere")
	rows := l.Rows()
	same(t, "standing", []any{rows[2].Unknown, rows[2].Standing, rows[2].Line, rows[2].Backing, rows[2].Origin}, []any{true, "fact", "it is 5", "", proposal("p")})
	same(t, "refusal", rows[3].Reason, findings.NotServed)
	for _, id := range []string{"a", "nowhere"} {
		if _, ok := l.Standing(id); ok {
			t.Errorf("a refused proposal gave %s a standing", id)
		}
	}
	same(t, "text", l.Text(), "Citations refused: 1.\n")
	var malformed findings.Ledger
	malformed.File(findings.Origin{Answer: findings.RawAnswer}, findings.Admit(w, declared(t, `"`+strings.Repeat("x", 9000)+`"`)))
	row := malformed.Rows()[0]
	same(t, "T98: frame", []any{kinds(&malformed), row.Reason, row.Frame.Truncated, row.Frame.Characters, len(row.Frame.Text) < 8192+3}, []any{"refused refusal", "MALFORMED", true, 9002, true})
}

func TestT111_F46_ruled_out_by_an_absence(t *testing.T) {
	t.Parallel()
	w := witness(t, mixed(t))
	var l findings.Ledger
	l.File(proposal("p"), findings.Admit(w, cite(findings.StandingRuledOut, "absent", "found")))
	l.File(proposal("q"), findings.Admit(w, cite(findings.StandingFact, "absent")))
	same(t, "rows", kinds(&l), "standing absent, unsettled-by-absence absent, standing found, standing absent")
	rows := l.Rows()
	same(t, "the word stays", []any{rows[0].Standing, rows[0].Backing}, []any{"ruled-out", "absence"})
	same(t, "scope", []any{rows[1].Scope, rows[1].NotChecked, rows[1].TryInstead},
		[]any{"searched log topic app for errors of db1; not checked: log topic audit", []string{"log topic audit"}, "search the audit topic"})
	same(t, "as a fact it backs the absence alone", rows[3].Backing, findings.BacksAbsence)
	same(t, "text", l.Text(), "You cited as fact, though nothing was found there:\n- absent \"\"\nYou ruled out:\n- found \"\"\nRuled out only because nothing was found: 1.\n")
}

// assertion is a citation with one assertion.
func assertion(t *testing.T, id, standing, value string) findings.Declaration {
	return declared(t, fmt.Sprintf(`{"previous":[{"toolCallId":%q,"standing":%q,"assertions":[{"subject":{"kind":"host","id":"db1"},"predicate":"state","value":%q}]}]}`, id, standing, value))
}

func TestF39_last_standing_wins_and_conflicts_are_told_once(t *testing.T) {
	t.Parallel()
	w := witness(t, mixed(t))
	var l findings.Ledger
	file := func(id, standing, value string) {
		l.File(proposal("p"), findings.Admit(w, assertion(t, id, standing, value)))
	}
	file("found", "fact", "up")
	file("older", "fact", "up")
	same(t, "they agree", kinds(&l), "standing found, standing older")
	file("older", "open", "down")
	file("absent", "fact", "down")
	same(t, "open ones and absences assert nothing", kinds(&l), "standing found, standing older, standing older, standing absent")
	file("ticket", "fact", "down")
	file("older", "fact", "off")
	same(t, "conflict, once", kinds(&l), "standing found, standing older, standing older, standing absent, standing ticket, conflict found/ticket, standing older")
	conflict := l.Rows()[5]
	same(t, "key", conflict.Key, `"host" "db1" "state"`)
	row, _ := l.Standing("older")
	same(t, "last standing", []any{row.Standing, row.Assertions[0].Value}, []any{"fact", "off"})
	var taken findings.Ledger
	taken.File(proposal("p"), findings.Admit(w, assertion(t, "found", "fact", "up")))
	taken.File(proposal("q"), findings.Admit(w, assertion(t, "found", "noise", "up")))
	taken.File(proposal("r"), findings.Admit(w, assertion(t, "ticket", "fact", "down")))
	same(t, "what was taken back is no conflict", kinds(&taken), "standing found, standing found, standing ticket")
}

func TestF39_rows_are_only_added(t *testing.T) {
	t.Parallel()
	w := witness(t, mixed(t))
	var l findings.Ledger
	before := ""
	for i, d := range []findings.Declaration{cite("fact", "found"), cite("noise", "found"), cite("fact", "made-up"), assertion(t, "ticket", "fact", "x"), declared(t, `7`)} {
		l.File(proposal(fmt.Sprint("p", i)), findings.Admit(w, d))
		if rows := kinds(&l); !strings.HasPrefix(rows, before) || rows == before {
			t.Errorf("rows were %s, then %s", before, rows)
		}
		before = kinds(&l)
		l.Rows()[0].ID = "changed" // a copy
	}
	same(t, "rows", before, "standing found, standing found, refused standing made-up, refused refusal made-up, standing ticket, refused refusal")
}

func TestF39_bounds_of_the_ledger(t *testing.T) {
	t.Parallel()
	w := witness(t, executed(ids(4096)...))
	var l findings.Ledger
	l.File(proposal("p"), findings.Admit(w, cite(findings.StandingOpen, ids(4096)...)))
	same(t, "at the bound", []any{len(l.Rows()), l.Omitted()}, []any{findings.MaxRows, 0})
	l.File(proposal("q"), findings.Admit(w, cite(findings.StandingNoise, "c0")))
	same(t, "over it", []any{len(l.Rows()), l.Omitted()}, []any{findings.MaxRows, 1})
	row, _ := l.Standing("c0")
	same(t, "what has no room has no part", row.Standing, findings.StandingOpen)
	if text := l.Text(); strings.Count(text, "\n") != 1+64+1+1 || !strings.Contains(text, "- and 4032 more\n") || !strings.HasSuffix(text, "Not kept for want of room: 1.\n") {
		t.Errorf("F47: got %d lines: ...%s", strings.Count(text, "\n"), text[len(text)-80:])
	}
	var texts findings.Ledger
	frame := findings.Admit(w, declared(t, `"`+strings.Repeat("x", 9000)+`"`))
	for range 200 {
		texts.File(proposal("p"), frame)
	}
	same(t, "bytes", []any{len(texts.Rows()), texts.Omitted()}, []any{127, 73}) // 8,191 and a mark of 3 bytes each
}

func encoded(t testing.TB, l *findings.Ledger, redact findings.Redactor) []byte {
	t.Helper()
	text, err := findings.EncodeLedger(l, redact)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// everything is a ledger with every kind of row.
func everything(t testing.TB, w *findings.Witness) *findings.Ledger {
	l := &findings.Ledger{}
	for i, d := range []findings.Declaration{
		declared(t, `{"basis":"direct","expect":"low","proposition":"p","predicts":"q","x":1,"previous":[{"toolCallId":"found","standing":"fact","line":"sekret line","assertions":[{"subject":{"kind":"host","id":"db1"},"predicate":"state","value":"up sekret"}]}]}`),
		declared(t, `{"previous":[{"toolCallId":"ticket","standing":"fact","assertions":[{"subject":{"kind":"host","id":"db1"},"predicate":"state","value":"down"}]}]}`),
		cite(findings.StandingRuledOut, "absent"),
		cite(findings.StandingFact, "made-up sekret"),
		declared(t, `"sekret frame"`),
	} {
		l.File(proposal(fmt.Sprint("p", i)), findings.Admit(w, d))
	}
	l.File(findings.Origin{Answer: findings.TransformedAnswer}, findings.Admit(w, cite(findings.StandingOpen, "older")))
	return l
}

func TestF31_ledgers_survive_checkpoints(t *testing.T) {
	t.Parallel()
	w := witness(t, mixed(t))
	l := everything(t, w)
	text := encoded(t, l, nil)
	again, err := findings.DecodeLedger(text)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "bytes", string(encoded(t, again, nil)), string(text))
	same(t, "rows", kinds(again), kinds(l))
	same(t, "text", again.Text(), l.Text())
	same(t, "refusals stay refusals", strings.Count(kinds(again), "refused refusal"), 2)
	if _, ok := again.Standing("made-up sekret"); ok {
		t.Error("a refused citation got a standing from its checkpoint")
	}
	// It goes on where it stopped: a conflict that was told is not told again.
	d := assertion(t, "older", "fact", "off")
	l.File(proposal("z"), findings.Admit(w, d))
	again.File(proposal("z"), findings.Admit(w, d))
	same(t, "went on", string(encoded(t, again, nil)), string(encoded(t, l, nil)))
	var empty findings.Ledger
	if _, err := findings.DecodeLedger(encoded(t, &empty, nil)); err != nil {
		t.Error(err)
	}
}

// redactor hides one word, and says how often it was asked.
func redactor(asked *int) findings.Redactor {
	return func(text []byte) ([]byte, error) {
		*asked++
		return bytes.ReplaceAll(text, []byte("sekret"), []byte("[REDACTED]")), nil
	}
}

func TestT108_F24_stored_forms_are_redacted(t *testing.T) {
	t.Parallel()
	c := mixed(t)
	for i := range c.Records {
		if c.Records[i].Call == call("absent") {
			c.Records[i].Coverage.LookedFor = "sekret thing"
			c.Records[i].Coverage.Uncovered = []evidence.Gap{{What: "sekret place", Reason: "closed"}}
		}
	}
	c.Served = append(c.Served, served("sekret", "-REDACTED-")...)
	c.Marks = append(c.Marks, findings.MarkExecuted(call("sekret"), "x"))
	c.Records = append(c.Records, found(call("sekret")))
	w := witness(t, c)
	asked := 0
	ledger := encoded(t, everything(t, w), redactor(&asked))
	stored, err := findings.EncodeWitness(w, redactor(&asked))
	if err != nil || asked == 0 {
		t.Fatal(err, asked)
	}
	for _, text := range [][]byte{ledger, stored} {
		if bytes.Contains(text, []byte("sekret")) || !bytes.Contains(text, []byte("[REDACTED]")) {
			t.Errorf("got %s", text)
		}
	}
	if _, err := findings.DecodeLedger(ledger); err != nil {
		t.Error(err)
	}
	again, err := findings.DecodeWitness(stored)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "an id that may not be stored cannot be cited", reasons(findings.Admit(again, cite(findings.StandingFact, "sekret", "[REDACTED]", "found", "absent"))),
		"NOT_SERVED NOT_SERVED -fact -absence")
	failing := findings.Redactor(func([]byte) ([]byte, error) { return nil, errors.New("sekret cause") })
	_, errLedger := findings.EncodeLedger(everything(t, w), failing)
	_, errWitness := findings.EncodeWitness(w, failing)
	for _, err := range []error{errLedger, errWitness} {
		var code *findings.CodeError
		if !errors.As(err, &code) || strings.Contains(err.Error(), "sekret") {
			t.Errorf("a redactor that fails: got %v", err)
		}
	}
	// A redactor that makes texts longer leaves a ledger that can be read.
	long := findings.Redactor(func(text []byte) ([]byte, error) { return bytes.Repeat(append(text, ' '), 400), nil })
	if _, err := findings.DecodeLedger(encoded(t, everything(t, w), long)); err != nil {
		t.Error(err)
	}
}

// T105, F32: there is no switch that admission could depend on. What is kept of it
// (ledger, event, stored forms) is made after the verdict, or not at all.
func TestT105_F32_admission_does_not_depend_on_what_is_kept(t *testing.T) {
	t.Parallel()
	w := witness(t, mixed(t))
	d := cite(findings.StandingFact, "never-served")
	bare := findings.Admit(w, d)
	var l findings.Ledger
	l.File(proposal("p"), bare)
	l.File(proposal("q"), findings.Admit(w, cite(findings.StandingFact, "never-served")))
	same(t, "with a ledger", reasons(findings.Admit(w, d)), reasons(bare))
	same(t, "without", reasons(bare), "NOT_SERVED")
}

func TestLedger_is_safe_for_concurrent_use(t *testing.T) {
	t.Parallel()
	w := witness(t, executed(ids(64)...))
	var l findings.Ledger
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 8 {
				l.File(proposal(fmt.Sprint("p", i)), findings.Admit(w, cite(findings.StandingNoise, fmt.Sprint("c", 8*i+j))))
				_, _, _ = l.Text(), findings.NewOffer(w, &l), l.Rows()
			}
		})
	}
	wait.Wait()
	same(t, "rows", []any{len(l.Rows()), len(findings.NewOffer(w, &l).IDs)}, []any{64, 0})
}

func TestDecodeLedger_refuses(t *testing.T) {
	t.Parallel()
	row := func(fields string) string {
		return `{"v":1,"rows":[{"kind":"standing","id":"a","call":":p",` + fields + `}]}`
	}
	if _, err := findings.DecodeLedger([]byte(row(`"backing":"fact"`))); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		``, `{}`, `[]`, `{"v":0}`, `{"v":"1"}`, `{"v":1,"more":1}`, `{"v":1,"v":1}`, `{"v":1}x`, `{"v":1,"omitted":-1}`,
		row(`"backing":"proof"`), row(`"unknown":true`), row(`"backing":"fact","standing":"Fact"`), row(`"backing":"fact","basis":"x"`),
		row(`"backing":"fact","expect":"x"`), row(`"backing":"fact","answer":"raw"`), row(`"backing":"fact","kind":"x"`), row(`"backing":"fact","cut":-1`),
		row(`"unknown":true,"backing":"fact"`), row(`"backing":"fact","frame":{"text":"` + strings.Repeat("x", 8193) + `","characters":1,"truncated":false}`),
		`{"v":1,"rows":[{"kind":"refusal","id":"a","call":":p","reason":"NOT_SERVED"}]}`,
		`{"v":1,"rows":[{"kind":"basis","call":"p"}]}`, `{"v":1,"rows":[{"kind":"basis","answer":"final"}]}`, `{"v":1,"rows":[{"kind":"proof","call":":p"}]}`,
		`{"v":1,"rows":[{"kind":"basis","call":":p","id":"` + strings.Repeat("x", 513) + `"}]}`,
		`{"v":1,"rows":[` + strings.Repeat(`{"kind":"basis","call":":p"},`, 4096) + `{"kind":"basis","call":":p"}]}`,
	} {
		l, err := findings.DecodeLedger([]byte(text))
		var code *findings.CodeError
		if l != nil || !errors.As(err, &code) {
			t.Errorf("%s: got %v, %v", text[:min(len(text), 80)], l, err)
		}
	}
	_, err := findings.DecodeLedger([]byte(`{"v":2,"shape":"new"}`))
	same(t, "newer", errors.Is(err, canonical.ErrNewerVersion), true)
}
