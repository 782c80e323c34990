package canonical_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/vectors"
)

// FuzzToolCallID: an id comes back exactly or not at all, and whatever is taken
// survives a key and a line of a log.
func FuzzToolCallID(f *testing.F) {
	for _, text := range []string{"", "call_abc", "call_x|fc_y", "functions.read_file:3", " call", "call ", "call\n", "{call}", strings.Repeat("x", 512), strings.Repeat("x", 513), "Call_1"} {
		f.Add(text)
	}
	for _, text := range vectors.NaughtyStrings(f) {
		f.Add(text)
	}
	for _, v := range vectors.UTF8Tests(f) {
		f.Add("call_" + string(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range kinds() {
			k.check(t, text)
		}
	})
}

// FuzzCallName: what is read is written back to the byte, and a refusal gives
// nothing.
func FuzzCallName(f *testing.F) {
	for _, text := range []string{"", ":", "a", ":a", "a:", "a:b", "a:b:c", "::", "1:call_abc", "t t:x", strings.Repeat("t", 33) + ":x", ":" + strings.Repeat("x", 513)} {
		f.Add(text)
	}
	for _, text := range vectors.NaughtyStrings(f) {
		f.Add(text)
		f.Add("1:" + text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := canonical.ParseCallName(text)
		if err != nil {
			if _, ok := errors.AsType[*canonical.NameError](err); !ok || n != (canonical.CallName{}) {
				t.Errorf("%q: %+v, %v; want nothing and a typed error", text, n, err)
			}
			return
		}
		if n.String() != text {
			t.Errorf("%q is written %q", text, n.String())
		}
		if err := n.Validate(); err != nil {
			t.Errorf("%q was read and is not valid: %v", text, err)
		}
		turn, id, _ := strings.Cut(text, ":")
		if string(n.Turn) != turn || string(n.ID) != id || strings.Contains(turn, ":") {
			t.Errorf("%q became %+v", text, n)
		}
	})
}

// FuzzRequest: a request is kept to the byte, and is one object of JSON that
// every parser reads alike; a refusal gives nothing and repeats nothing.
func FuzzRequest(f *testing.F) {
	for _, v := range vectors.JSONTestSuite(f) {
		f.Add(v.Bytes, 1<<16)
		f.Add([]byte(`{"wrapped":`+string(v.Bytes)+`}`), 1<<16)
	}
	for _, v := range vectors.UTF8Tests(f) {
		f.Add([]byte(`{"a":"`+string(v.Bytes)+`"}`), 1<<16)
	}
	for _, text := range vectors.NaughtyStrings(f) {
		f.Add([]byte(`{"a":"`+text+`"}`), 1<<16)
	}
	f.Add([]byte(`{"a":1,"\u0061":2}`), 18)
	f.Add([]byte(`{"a":"\ud800"}`), 14)
	f.Add([]byte(strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100)), 1<<16)
	f.Add([]byte(strings.Repeat(`{"a":`, 101)+"1"+strings.Repeat("}", 101)), 1<<16)
	f.Add([]byte(`{}`), 1)
	f.Fuzz(func(t *testing.T, input []byte, limit int) {
		r, err := parse(t, input, limit)
		if err != nil {
			if text := err.Error(); len(text) > 200 || strings.Contains(text, "\n") {
				t.Errorf("%q: the error is %q", input, text)
			}
			return
		}
		if len(input) > limit || len(input) > canonical.MaxRequestBytes || !utf8.Valid(input) || !json.Valid(input) || loneSurrogate(input) {
			t.Errorf("%q was taken under a limit of %d", input, limit)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(input, &members); err != nil || members == nil {
			t.Errorf("%q was taken and is no object: %v", input, err)
		}
		again, err := canonical.ParseRequest(r.Bytes(), limit)
		if err != nil || again.SHA256() != r.SHA256() {
			t.Errorf("%q was taken once: %v", input, err)
		}
	})
}
