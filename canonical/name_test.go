package canonical_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/vectors"
)

// kind is one of the four names that are parsed, with its rule written a second
// time as a pattern.
type kind struct {
	field string
	parse func(string) (string, error)
	form  *regexp.Regexp
	most  int
}

func kinds() []kind {
	return []kind{
		{"tool_call_id", func(s string) (string, error) { n, err := canonical.ParseToolCallID(s); return string(n), err },
			regexp.MustCompile(`^[A-Za-z0-9._:|/+=@~-]+$`), 512},
		{"turn", func(s string) (string, error) { n, err := canonical.ParseTurn(s); return string(n), err },
			regexp.MustCompile(`^[A-Za-z0-9._-]*$`), 32},
		{"run_id", func(s string) (string, error) { n, err := canonical.ParseRunID(s); return string(n), err },
			regexp.MustCompile(`^[A-Za-z0-9._-]+$`), 128},
		{"tool", func(s string) (string, error) {
			if err := canonical.CheckToolName(s); err != nil {
				return "", err
			}
			return s, nil
		}, regexp.MustCompile(`^[A-Za-z0-9._-]+$`), 64},
	}
}

// checkParse compares one answer with the pattern and holds for any text.
func (k kind) check(t *testing.T, text string) {
	t.Helper()
	got, err := k.parse(text)
	want := k.form.MatchString(text) && len(text) <= k.most
	if (err == nil) != want {
		t.Errorf("%s %.80q: %v, want accepted %v", k.field, text, err, want)
		return
	}
	if err == nil {
		if got != text {
			t.Errorf("%s %.80q became %.80q", k.field, text, got)
		}
		return
	}
	bad, ok := errors.AsType[*canonical.NameError](err)
	if !ok || bad.Field != k.field || got != "" {
		t.Errorf("%s %.80q: %.80q, %v; want nothing and an error that names the field", k.field, text, got, err)
		return
	}
	if bad.Limit != 0 && (bad.Limit != k.most || bad.Size != len(text)) {
		t.Errorf("%s of %d bytes: size %d, limit %d, want %d and %d", k.field, len(text), bad.Size, bad.Limit, len(text), k.most)
	}
	if bad.Limit == 0 && text != "" && k.form.MatchString(text[bad.Offset:bad.Offset+1]) {
		t.Errorf("%s %.80q: byte %d is said to be wrong and is not", k.field, text, bad.Offset)
	}
	if strings.ContainsAny(err.Error(), "\n\r\x00") || len(text) > 12 && strings.Contains(err.Error(), text) {
		t.Errorf("%s %.80q: the error repeats it: %q", k.field, text, err)
	}
}

func TestToolCallID(t *testing.T) {
	t.Parallel()
	id := kinds()[0]
	t.Run("T04_nothing_and_blanks", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"", " ", "   ", "\t", "\n", "\u00a0", "\u200b", "\ufeff", "\x00"} {
			if got, err := id.parse(text); err == nil {
				t.Errorf("%q became %q", text, got)
			}
			id.check(t, text)
		}
	})
	t.Run("T05_as_providers_send_them", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("fc_0A|/+=", 60)[:454]
		for _, text := range []string{"call_abc", "toolu_01A", "functions.read_file:3", "call_x|fc_y", "exec:80", "ollama_0",
			"0192f0c1-2f3b-7a5e-9c5d-3d6f1f2a4b5c", "a", "-", "a=b@c~d", long} {
			got, err := canonical.ParseToolCallID(text)
			if err != nil || string(got) != text {
				t.Errorf("%q: %q, %v", text, got, err)
			}
		}
	})
	t.Run("T09_refused_and_not_trimmed", func(t *testing.T) {
		t.Parallel()
		for _, space := range []string{" ", "\t", "\n", "\r\n", "\u00a0", "\u3000"} {
			for _, text := range []string{space + "call_abc", "call_abc" + space, space + "call_abc" + space, "call" + space + "abc"} {
				if got, err := canonical.ParseToolCallID(text); err == nil || got != "" {
					t.Errorf("%q: %q, %v; want it refused", text, got, err)
				}
			}
		}
	})
	t.Run("T10_case_tells_apart", func(t *testing.T) {
		t.Parallel()
		upper, lower := canonical.CallName{ID: "Call_1"}, canonical.CallName{ID: "call_1"}
		names := map[canonical.CallName]bool{upper: true, lower: true}
		if len(names) != 2 || upper.String() == lower.String() {
			t.Errorf("%q and %q are one name", upper, lower)
		}
	})
	t.Run("B09_up_to_the_limit_whole", func(t *testing.T) {
		t.Parallel()
		for _, size := range []int{63, 64, 65, 511, 512, 513, 4096} {
			text := strings.Repeat("x", size)
			got, err := canonical.ParseToolCallID(text)
			if size <= 512 {
				if err != nil || string(got) != text {
					t.Errorf("%d bytes: %d back, %v", size, len(got), err)
				}
				continue
			}
			bad, ok := errors.AsType[*canonical.NameError](err)
			if !ok || bad.Size != size || bad.Limit != 512 || got != "" {
				t.Errorf("%d bytes: %d back, %v; want both numbers", size, len(got), err)
			}
		}
	})
	t.Run("B12_odd_characters", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"a*", "a?", "a[b]", "a{b}", "a\nb", "a\x00b", "a\u200fb", "a\U0001F600", `a"b`, "a'b", "a\\b", "a%2fb", "a,b", "a;b", "a#b", "a&b", "a(b)", "a<b>", "a$b", "a!b", "a^b", "a`b", "ä"} {
			id.check(t, text)
			if _, err := canonical.ParseToolCallID(text); err == nil {
				t.Errorf("%q was taken", text)
			}
		}
	})
}

// Each of the 256 bytes, alone and inside, against the pattern.
func TestNames_every_byte(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		k.check(t, "")
		for b := range 256 {
			k.check(t, string([]byte{byte(b)}))
			k.check(t, "a"+string([]byte{byte(b)})+"b")
		}
		for _, size := range []int{k.most - 1, k.most, k.most + 1, 8 * k.most} {
			k.check(t, strings.Repeat("a", size))
		}
	}
}

func TestNames_imported_strings(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		for _, text := range vectors.NaughtyStrings(t) {
			k.check(t, text)
		}
		for _, v := range vectors.UTF8Tests(t) {
			k.check(t, "call_"+string(v.Bytes))
		}
	}
}

// No brace may come from a name: the only hash tag of a key is the store's. No
// colon may be in a turn or a run: a key splits in one way.
func TestNames_alphabets_leave_keys_unambiguous(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		for _, mark := range []string{"{", "}", "*", "?", "[", "\\"} {
			if _, err := k.parse("a" + mark); err == nil {
				t.Errorf("%s takes %q", k.field, mark)
			}
		}
		if _, err := k.parse("a:b"); (err == nil) != (k.field == "tool_call_id") {
			t.Errorf("%s with a colon: %v", k.field, err)
		}
	}
}

func TestCallName_encoding_is_injective(t *testing.T) {
	t.Parallel()
	seen := map[string]canonical.CallName{}
	for _, turn := range []canonical.Turn{"", "a", "a.b", "1", "12", "-", "_"} {
		for _, id := range []canonical.ToolCallID{"a", "b:c", ":", "::", ":a", "a:", "a:b:c", "2:x", "b", "c", ".b:c"} {
			n := canonical.CallName{Turn: turn, ID: id}
			text := n.String()
			if other, twice := seen[text]; twice {
				t.Errorf("%+v and %+v are both %q", n, other, text)
			}
			seen[text] = n
			if back, err := canonical.ParseCallName(text); err != nil || back != n {
				t.Errorf("%q: %+v, %v, want %+v", text, back, err, n)
			}
			if err := n.Validate(); err != nil {
				t.Errorf("%+v: %v", n, err)
			}
		}
	}
}

func TestCallName_refuses(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		"": "call_name", "abc": "call_name", ":": "tool_call_id", "turn:": "tool_call_id", "a b:c": "turn", " :c": "turn",
		"{a}:c": "turn", strings.Repeat("t", 33) + ":c": "turn", "a:" + strings.Repeat("c", 513): "tool_call_id", "a:b c": "tool_call_id", "a:{b}": "tool_call_id",
	} {
		got, err := canonical.ParseCallName(text)
		if bad, ok := errors.AsType[*canonical.NameError](err); !ok || bad.Field != field || got != (canonical.CallName{}) {
			t.Errorf("%.40q: %+v, %v; want nothing and an error of %s", text, got, err, field)
		}
	}
	// P08: a turn with a colon is refused, so these two can never meet.
	if err := (canonical.CallName{Turn: "a:b", ID: "c"}).Validate(); err == nil {
		t.Error("a turn with a colon was taken")
	}
}

func TestNameError_text(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(canonical.ParseToolCallID("")), "canonical: tool_call_id: empty"},
		{second(canonical.ParseToolCallID("a b")), "canonical: tool_call_id: has a byte that is not allowed at byte 1"},
		{second(canonical.ParseTurn(strings.Repeat("a", 40))), "canonical: turn: too long in bytes (40, limit 32)"},
		{canonical.Scope{}.Validate(), "canonical: scope: empty; there is no default scope"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestToolName_is_the_alphabet_of_a_tool(t *testing.T) {
	t.Parallel()
	good := []string{"a", "sql_db_query", "mcp.server-1", strings.Repeat("x", 64)}
	for _, name := range append(good, "", "a b", "a:b", strings.Repeat("x", 65)) {
		if err := canonical.CheckToolName(name); (err == nil) != slices.Contains(good, name) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := canonical.CheckToolName("a/b"); fmt.Sprint(err) != "canonical: tool: has a byte that is not allowed at byte 1" {
		t.Error(err)
	}
}
