package canonical_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/vectors"
)

// parse checks what holds for any input, and returns whether it was taken.
func parse(t testing.TB, input []byte, limit int) (canonical.Request, error) {
	t.Helper()
	r, err := canonical.ParseRequest(input, limit)
	if err == nil {
		if !bytes.Equal(r.Bytes(), input) || r.SHA256() != canonical.Body(input).SHA256() {
			t.Errorf("%.60q became %.60q", input, []byte(r.Bytes()))
		}
		return r, nil
	}
	bad, ok := errors.AsType[*canonical.RequestError](err)
	if !ok || r.Bytes() != nil || r.SHA256() != "" {
		t.Errorf("%.60q: a request of %d bytes and %v, want none and a typed error", input, len(r.Bytes()), err)
		return r, err
	}
	if bad.Offset < 0 || bad.Offset > len(input) || bad.TooLarge && bad.Size != len(input) {
		t.Errorf("%.60q: %+v is outside of %d bytes", input, bad, len(input))
	}
	return r, err
}

func reason(err error) string {
	if bad, ok := errors.AsType[*canonical.RequestError](err); ok {
		return bad.Reason
	}
	return ""
}

const roomy = canonical.MaxRequestBytes

func TestRequest(t *testing.T) {
	t.Parallel()
	t.Run("T11_no_single_object", func(t *testing.T) {
		t.Parallel()
		for input, want := range map[string]string{
			`[]`: "not a JSON object", `null`: "not a JSON object", `"x"`: "not a JSON object", `1`: "not a JSON object", `true`: "not a JSON object",
			``: "not a JSON object", ` `: "not a JSON object", `[{}]`: "not a JSON object", `"{}"`: "not a JSON object",
			`{"a":1}{"b":2}`: "has more than one JSON value", `{} {}`: "has more than one JSON value", `{},`: "has more than one JSON value", `{}x`: "has more than one JSON value", "{}\x00": "has more than one JSON value",
			`{"a":}`: "not valid JSON", `{`: "not valid JSON", `{"a"`: "not valid JSON", `{"a":1`: "not valid JSON", `{"a":1,}`: "not valid JSON", `{a:1}`: "not valid JSON", `{'a':1}`: "not valid JSON",
			`{"a":01}`: "not valid JSON", `{"a":NaN}`: "not valid JSON", `{"a":+1}`: "not valid JSON", "{\"a\":\"\n\"}": "not valid JSON", `{"a":"\x"}`: "not valid JSON", "\ufeff{}": "not valid JSON", `nul`: "not valid JSON", `}`: "not valid JSON",
			`// c` + "\n{}": "not valid JSON", `{"a":1 /*c*/}`: "not valid JSON",
		} {
			if _, err := parse(t, []byte(input), roomy); reason(err) != want {
				t.Errorf("%q: %v, want %q", input, err, want)
			}
		}
	})
	t.Run("T50_limit_and_one_more", func(t *testing.T) {
		t.Parallel()
		input := []byte(`{"a":"` + strings.Repeat("é", 20) + `"}`)
		for _, limit := range []int{len(input) - 1, len(input), len(input) + 1} {
			_, err := parse(t, input, limit)
			bad, _ := errors.AsType[*canonical.RequestError](err)
			if fits := limit >= len(input); (err == nil) != fits || !fits && (!bad.TooLarge || bad.Limit != limit || bad.Size != len(input)) {
				t.Errorf("%d bytes under a limit of %d: %v", len(input), limit, err)
			}
		}
		for _, limit := range []int{0, -1} {
			_, err := parse(t, []byte(`{}`), limit)
			if bad, _ := errors.AsType[*canonical.RequestError](err); bad == nil || !bad.TooLarge {
				t.Errorf("a limit of %d: %v", limit, err)
			}
		}
	})
	t.Run("T50_no_limit_allows_more_than_the_protocol", func(t *testing.T) {
		t.Parallel()
		input := object(canonical.MaxRequestBytes)
		if _, err := parse(t, input, 1<<30); err != nil {
			t.Errorf("%d bytes: %v", len(input), err)
		}
		_, err := parse(t, object(canonical.MaxRequestBytes+1), 1<<30)
		if bad, _ := errors.AsType[*canonical.RequestError](err); bad == nil || !bad.TooLarge || bad.Limit != canonical.MaxRequestBytes {
			t.Errorf("one byte more: %v", err)
		}
	})
}

// object is a JSON object of exactly n bytes.
func object(n int) []byte { return []byte(`{"a":"` + strings.Repeat("x", n-8) + `"}`) }

func TestRequest_is_kept_as_sent(t *testing.T) {
	t.Parallel()
	digests := map[string]string{}
	for _, input := range []string{
		`{}`, ` {}`, "{}\n", "\t{\r\n}\n ", `{"a":1}`, `{"a":1.0}`, `{"a":1e0}`, `{"a":-0}`, `{"a":1e400}`, `{"n":9007199254740993}`, `{"n":9007199254740992}`,
		`{"a":"\u00e9"}`, `{"a":"é"}`, `{"a":"e\u0301"}`, `{"b":1,"a":2}`, `{"a":2,"b":1}`, `{"a":"\/"}`, `{"a":"/"}`, `{"\ud83d\ude00":1}`, `{"😀":1}`, `{"a":"\u0000"}`, `{"a":"<script>&\u2028"}`,
		`{"n":0.1000000000000000055511151231257827021181583404541015625}`,
	} {
		r, err := parse(t, []byte(input), roomy)
		if err != nil {
			t.Errorf("%q: %v", input, err)
			continue
		}
		if other, twice := digests[r.SHA256()]; twice {
			t.Errorf("%q and %q have one digest", input, other)
		}
		digests[r.SHA256()] = input
	}
}

func TestRequest_shares_no_memory(t *testing.T) {
	t.Parallel()
	input := []byte(`{"a":1}`)
	r, err := canonical.ParseRequest(input, roomy)
	if err != nil {
		t.Fatal(err)
	}
	input[5] = '2'
	if string(r.Bytes()) != `{"a":1}` {
		t.Errorf("the caller's change reached the request: %s", string(r.Bytes()))
	}
}

func TestRequest_member_names(t *testing.T) {
	t.Parallel()
	const twice = "has a member name twice in one object"
	for input, want := range map[string]string{
		`{"a":1,"a":1}`: twice, `{"a":1,"b":2,"a":3}`: twice, `{"a":1,"\u0061":2}`: twice, `{"\u0061":1,"\u0061":2}`: twice, `{"":1,"":2}`: twice,
		`{"x":{"a":1,"a":2}}`: twice, `{"x":[[{"a":1,"a":2}]]}`: twice, `{"😀":1,"\ud83d\ude00":2}`: twice, `{"\/":1,"/":2}`: twice, `{"a":{},"a":{}}`: twice, `{"\n":1,"\u000a":2}`: twice,
		`{"a":1,"A":1}`: "", `{"a":{"a":1}}`: "", `{"x":[{"a":1},{"a":2}]}`: "", `{"é":1,"e\u0301":2}`: "", `{"a":1,"a ":2}`: "", `{"a":{"b":1},"b":{"b":1}}`: "", `{"a":"a"}`: "",
	} {
		if _, err := parse(t, []byte(input), roomy); reason(err) != want {
			t.Errorf("%q: %v, want %q", input, err, want)
		}
	}
	var many strings.Builder // an object with thousands of names, the last of them seen before
	many.WriteString(`{"k0":0`)
	for i := 1; i < 20000; i++ {
		fmt.Fprintf(&many, `,"k%d":0`, i)
	}
	if _, err := parse(t, []byte(many.String()+`}`), roomy); err != nil {
		t.Errorf("20000 names: %v", err)
	}
	if _, err := parse(t, []byte(many.String()+`,"k\u0030":0}`), roomy); reason(err) != twice {
		t.Errorf("20001 names: %v", err)
	}
}

func TestRequest_surrogates(t *testing.T) {
	t.Parallel()
	for input, good := range map[string]bool{
		`{"a":"\ud83d\ude00"}`: true, `{"\uD83D\uDE00":1}`: true,
		`{"a":"\ud83d"}`: false, `{"a":"\ude00"}`: false, `{"a":"\ude00\ud83d"}`: false, `{"a":"\ud83d\ud83d\ude00"}`: false, `{"a":"\ud83dx\ude00"}`: false, `{"a":"\ud83d\n"}`: false,
		`{"\udc00":1}`: false, `{"x":[{"\ud800":1}]}`: false, `{"a":"\ud800\u0061"}`: false, "{\"a\":\"\xed\xa0\xbd\"}": false, `{"a":"\\ud83d"}`: true,
	} {
		if _, err := parse(t, []byte(input), roomy); (err == nil) != good {
			t.Errorf("%q: %v, want taken %v", input, err, good)
		}
	}
}

func TestRequest_depth(t *testing.T) {
	t.Parallel()
	nested := func(levels int, open, shut string) []byte {
		return []byte(`{"a":` + strings.Repeat(open, levels-1) + `1` + strings.Repeat(shut, levels-1) + `}`)
	}
	for _, c := range []struct{ open, shut string }{{"[", "]"}, {`{"a":`, "}"}, {`[{"a":`, "}]"}} {
		step := strings.Count(c.open, "[") + strings.Count(c.open, "{")
		for _, levels := range []int{1, 2, 50, 99, 100, 101, 102, 5000} {
			depth := 1 + (levels-1)*step
			_, err := parse(t, nested(levels, c.open, c.shut), roomy)
			if (err == nil) != (depth <= canonical.MaxRequestDepth) {
				t.Errorf("%d levels of %s: %v", depth, c.open, err)
			}
			if bad, ok := errors.AsType[*canonical.RequestError](err); ok && (bad.Limit != 100 || bad.Size != 101 || bad.TooLarge) {
				t.Errorf("%d levels of %s: %+v, want level 101 and limit 100", depth, c.open, bad)
			}
		}
	}
	if _, err := parse(t, []byte(strings.Repeat(`{"a":`, 50000)), roomy); reason(err) != "nested too deep" {
		t.Errorf("objects that are never closed: %v", err)
	}
}

func TestRequest_UTF8(t *testing.T) {
	t.Parallel()
	for _, v := range vectors.UTF8Tests(t) {
		for _, form := range []string{`{"a":"%s"}`, `{"%s":1}`, `{"x":["%s"]}`} {
			input := []byte(strings.Replace(form, "%s", string(v.Bytes), 1))
			_, err := parse(t, input, roomy)
			if want := v.Valid && json.Valid(input); (err == nil) != want {
				t.Errorf("case %s in %s: %v, want taken %v", v.ID, form, err, want)
			}
			if bad, ok := errors.AsType[*canonical.RequestError](err); ok && !v.Valid {
				if bad.Reason != "not valid UTF-8" || utf8.Valid(input[bad.Offset:]) || !utf8.Valid(input[:bad.Offset]) {
					t.Errorf("case %s in %s: %v, want the first byte that is not UTF-8", v.ID, form, err)
				}
			}
		}
	}
}

func TestRequest_naughty_strings(t *testing.T) {
	t.Parallel()
	for i, text := range vectors.NaughtyStrings(t) {
		var quoted bytes.Buffer
		encoder := json.NewEncoder(&quoted)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		for _, input := range []string{`{"a":` + quoted.String() + `}`, `{` + quoted.String() + `:1}`} {
			if _, err := parse(t, []byte(input), roomy); err != nil {
				t.Errorf("string %d as JSON: %v", i, err)
			}
		}
		_, _ = parse(t, []byte(text), roomy)
		_, _ = parse(t, []byte(`{"a":"`+text+`"}`), roomy)
	}
}

// The whole of json-test-suite: exactly the objects are taken that are JSON and
// UTF-8, repeat no name, have no lone surrogate and are not too deep. What is no
// object is tried again inside of one.
func TestRequest_json_test_suite(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, v := range vectors.JSONTestSuite(t) {
		object := bytes.HasPrefix(bytes.TrimLeft(v.Bytes, " \t\r\n"), []byte("{"))
		good := v.Class != vectors.MustReject && json.Valid(v.Bytes) && v.ValidUTF8 && !v.Repeats && !loneSurrogate(v.Bytes)
		if v.Class == vectors.MustAccept && !v.Repeats && !good {
			t.Errorf("%s must be accepted, and this test would refuse it", v.Name)
		}
		if _, err := parse(t, v.Bytes, roomy); (err == nil) != (good && object && v.Depth <= canonical.MaxRequestDepth) {
			t.Errorf("%s: %v; object %v, acceptable %v, depth %d", v.Name, err, object, good, v.Depth)
		} else if err == nil {
			taken++
		}
		inside := []byte(`{"wrapped here":` + string(v.Bytes) + `}`)
		if _, err := parse(t, inside, roomy); (err == nil) != (good && v.Depth+1 <= canonical.MaxRequestDepth) {
			t.Errorf("%s inside an object: %v; acceptable %v, depth %d", v.Name, err, good, v.Depth)
		} else if err == nil {
			taken++
		}
	}
	if taken < 80 {
		t.Errorf("%d texts were taken, want at least 80", taken)
	}
}

// loneSurrogate looks for \uD800 to \uDFFF that is not half of a pair.
func loneSurrogate(text []byte) bool {
	text = bytes.ReplaceAll(text, []byte(`\\`), []byte(`__`))
	text = surrogatePair.ReplaceAll(text, []byte(`__`))
	return surrogate.Match(text)
}

var (
	surrogatePair = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	surrogate     = regexp.MustCompile(`(?i)\\ud[89a-f][0-9a-f]{2}`)
)

// The error of a request goes to logs; the request may hold credentials.
func TestRequest_errors_repeat_nothing(t *testing.T) {
	t.Parallel()
	const marker = "marker4711"
	for _, input := range []string{
		`{"` + marker + `":1,"` + marker + `":2}`, `{"a":` + marker + `}`, `{"a":"` + marker + "\xff" + `"}`, `"` + marker + `"`, marker, `{}` + marker,
		`{"a":"` + marker, `{"` + marker + `":"\ud800"}`, `{` + strings.Repeat(`"`+marker+`":{`, 101), `{"a":"\` + marker + `"}`,
	} {
		_, err := parse(t, []byte(input), roomy)
		if err == nil {
			t.Errorf("%q was taken", input)
			continue
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%+v", errors.Unwrap(err))} {
			if strings.Contains(text, marker) {
				t.Errorf("%q: the error repeats it: %s", input, text)
			}
		}
		if !strings.HasPrefix(err.Error(), "canonical: request: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %q", input, err)
		}
	}
	_, err := parse(t, []byte(strconv.Quote(marker)), 5)
	if got, want := fmt.Sprint(err), "canonical: request: too large in bytes (12, limit 5)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
