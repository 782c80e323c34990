package findings_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/findings"
)

func TestAdmitAnswer(t *testing.T) {
	t.Parallel()
	w := witness(t, executed("a", "b"))
	const good, bad = `"_findings":{"previous":[{"toolCallId":"a","standing":"fact"}]}`, `"_findings":{"previous":[{"toolCallId":"made-up"}]}`
	for _, c := range []struct{ name, text, want string }{
		{"F02_good_citation", `{"answer":1,` + good + `}`, "-fact"},
		{"T100_F25_unknown_id", `{"answer":1,` + bad + `}`, "NOT_SERVED"},
		{"F02_space_around", "\n\t {" + bad + "} \r\n", "NOT_SERVED"},
		{"F02_escaped_name", `{"\u005f\u0066indings":{"previous":[{"toolCallId":"made-up"}]}}`, "NOT_SERVED"},
		{"F18_malformed", `{"_findings":"made-up"}`, "MALFORMED"},
		{"F02_nested_is_data", `{"answer":{` + bad + `}}`, ""},
		{"F02_null", `{"_findings":null}`, ""},
		{"T104_prose", `The stock is 5, see call a. {"x":1}`, ""},
		{"T104_empty", ``, ""},
		{"T104_prose_with_the_word", `Use _findings or "_findings" for that; a "_findings`, ""},
		{"T104_json_without", `{"answer":"_findings"}`, ""},
		{"T104_list", `[1,2]`, ""},
		{"T104_not_utf8", "caf\xe9", ""},
		{"F18_in_a_block_of_code", "Here:\n```json\n{" + bad + "}\n```\n", "NOT_SERVED"},
		{"F18_in_prose_good", "Here: {" + good + "} done", "-fact"},
		{"F18_text_behind", `{` + bad + `} I hope this helps`, "NOT_SERVED"},
		{"F18_two_objects", `{"x":1,` + good + `}{` + bad + `}`, "-fact NOT_SERVED"},
		{"F18_comma_too_many", `{"a":1,` + bad + `,}`, "NOT_SERVED"},
		{"F18_member_twice", `{` + good + `,` + bad + `}`, "-fact NOT_SERVED"},
		{"F18_cut_off", `{"a":1,"_findings":{"previous":[{"toolCallId":"a"`, "MALFORMED"},
		{"F18_list_of_answers", `[{` + bad + `}]`, "NOT_SERVED"},
		{"F18_byte_order_mark", "\ufeff{" + bad + "}", "NOT_SERVED"},
		{"F18_not_utf8_inside", `{"a":"` + "\xff" + `",` + bad + `}`, "NOT_SERVED"},
		{"F18_escaped_in_prose", `x {"_fi\u006edings" : {"previous":[{"toolCallId":"made-up"}]}}`, "NOT_SERVED"},
		{"F18_every_letter_escaped", `x "\u005f\u0066\u0069\u006e\u0064\u0069\u006e\u0067\u0073":"q"`, "MALFORMED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, err := findings.AdmitAnswer(w, findings.RawAnswer, []byte(c.text))
			same(t, "verdicts", reasons(a), c.want)
			var denied *findings.AnswerDeniedError
			if errors.As(err, &denied) != a.Refused() || err != nil && denied.Stage != findings.RawAnswer {
				t.Errorf("got %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "made-up") || strings.Contains(fmt.Sprintf("%+v %#v", err, err), "made-up")) {
				t.Errorf("the error repeats the answer: %v", err)
			}
			if _, err := findings.AdmitAnswer(nil, findings.RawAnswer, []byte(c.text)); (err != nil) != (c.want != "") {
				t.Errorf("without a witness: got %v", err)
			}
		})
	}
}

// What a subscriber of a stream has seen is a draft: it may be nothing to object to
// until the end, and only the whole text is judged for good.
func TestF28_drafts_are_not_the_answer(t *testing.T) {
	t.Parallel()
	w := witness(t, executed("a"))
	const text = `{"stock":5,"_findings":{"previous":[{"toolCallId":"made-up"}]}}`
	shown := 0
	for i := range len(text) {
		if _, err := findings.AdmitAnswer(w, findings.RawAnswer, []byte(text[:i])); err == nil {
			shown = i
		}
	}
	_, err := findings.AdmitAnswer(w, findings.RawAnswer, []byte(text))
	same(t, "shown before, denied at the end", []any{text[:shown], err != nil}, []any{`{"stock":5,"_findings"`, true})
}

// host is a loop with an output schema: it may ask again as often as its own
// allowance says, and asks nobody else.
type host struct {
	answers         []string
	asked           int
	retries, rounds int
	middleware      func(string) string
	w               *findings.Witness
}

func (h *host) answer() (string, error) {
	for {
		text := h.answers[min(h.asked, len(h.answers)-1)]
		h.asked++
		_, err := findings.AdmitAnswer(h.w, findings.RawAnswer, []byte(text))
		if err == nil && h.middleware != nil {
			text = h.middleware(text)
			_, err = findings.AdmitAnswer(h.w, findings.TransformedAnswer, []byte(text))
		}
		if err == nil || h.retries == 0 || h.asked >= h.rounds {
			return text, err
		}
		h.retries--
	}
}

func TestAnswerOfALoop(t *testing.T) {
	t.Parallel()
	w := witness(t, executed("a"))
	const good, bad = `{"_findings":{"previous":[{"toolCallId":"a","standing":"fact"}]}}`, `{"_findings":{"previous":[{"toolCallId":"made-up"}]}}`
	add := func(string) string { return bad }
	wash := func(string) string { return `{}` }
	for _, c := range []struct {
		name  string
		host  host
		asked int
		stage findings.Stage // of the denial; empty: accepted
	}{
		{"T100_F26_no_retry_configured", host{answers: []string{bad}, rounds: 9}, 1, findings.RawAnswer},
		{"T101_F26_one_retry_that_fails", host{answers: []string{bad}, retries: 1, rounds: 9}, 2, findings.RawAnswer},
		{"T101_F26_one_retry_that_helps", host{answers: []string{bad, good}, retries: 1, rounds: 9}, 2, ""},
		{"T101_F26_no_rounds_left", host{answers: []string{bad, good}, retries: 1, rounds: 1}, 1, findings.RawAnswer},
		{"T103_F27_middleware_adds", host{answers: []string{good}, rounds: 9, middleware: add}, 1, findings.TransformedAnswer},
		{"T103_F27_middleware_washes", host{answers: []string{bad}, rounds: 9, middleware: wash}, 1, findings.RawAnswer},
		{"F27_middleware_takes_a_good_one_off", host{answers: []string{good}, rounds: 9, middleware: wash}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.host.w = w
			_, err := c.host.answer()
			var denied *findings.AnswerDeniedError
			got := findings.Stage("")
			if errors.As(err, &denied) {
				got = denied.Stage
			}
			same(t, "asked, denied", []any{c.host.asked, got}, []any{c.asked, c.stage})
		})
	}
}

// The search of a text that is no JSON reads each byte a bounded number of times.
func TestAdmitAnswer_long_hostile_texts(t *testing.T) {
	t.Parallel()
	w := witness(t, executed("a"))
	for _, piece := range []string{`"_findings":[`, `"_findings":{},`, `"_findings"`, `"`, `"_findings":"`, `{"_findings":`} {
		text := []byte("x" + strings.Repeat(piece, 1<<20/len(piece)))
		start := time.Now()
		_, _ = findings.AdmitAnswer(w, findings.RawAnswer, text)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%d bytes of %q took %v", len(text), piece, d)
		}
	}
}
