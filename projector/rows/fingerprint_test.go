package rows_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/projector/rows"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ statement, want string }{
		"empty":                    {"", ""},
		"spaces":                   {"  SELECT\n\t1  ", "SELECT ?"},
		"string":                   {"SELECT 'secret'", "SELECT ?"},
		"doubled_quote":            {"SELECT 'it''s', x", "SELECT ?, x"},
		"empty_string":             {"a = ''", "a = ?"},
		"two_strings":              {"'a' || 'b'", "? || ?"},
		"prefixed_string":          {"N'x' = E'y'", "N? = E?"},
		"backslash_pair":           {`a = 'x\\' AND b = 'y'`, "a = ? AND b = ?"},
		"backslash_in_path":        {`a = 'C:\dir' AND b = 1`, "a = ? AND b = ?"},
		"backslash_quote":          {`a = 'x\' OR secret = 'y'`, "a = ? …"},
		"open_string":              {"a = 'secret", "a = ? …"},
		"integer":                  {"LIMIT 10", "LIMIT ?"},
		"decimal":                  {"x > 1.5 AND y < .5", "x > ? AND y < ?"},
		"exponent":                 {"1e10 2.5E-3 3e+4", "? ? ?"},
		"hexadecimal":              {"0xDEADBEEF", "?"},
		"minus":                    {"a-1", "a-?"},
		"digit_in_name":            {"SELECT t2.c3 FROM t2", "SELECT t2.c3 FROM t2"},
		"name_then_number":         {"t 2", "t ?"},
		"in_list":                  {"IN (1,2, 3)", "IN (?,?, ?)"},
		"line_comment":             {"SELECT 1 -- password: hunter2\nFROM t", "SELECT ? FROM t"},
		"line_comment_last":        {"SELECT a -- x", "SELECT a"},
		"block_comment":            {"SELECT/* 'x' */a", "SELECT a"},
		"nested_comment":           {"a /* b /* c */ d */ e", "a e"},
		"open_comment":             {"a /* secret", "a …"},
		"quoted_name":              {`SELECT "First Name" FROM "t"`, `SELECT "First Name" FROM "t"`},
		"quoted_name_doubled":      {`"a""b"`, `"a""b"`},
		"quote_in_quoted_name":     {`"it's" = 'x'`, `"it's" = ?`},
		"open_quoted_name":         {`SELECT "abc`, "SELECT …"},
		"backticks":                {"`order` = 'x'", "`order` = ?"},
		"dollar_quoted":            {"SELECT $$it's$$, $tag$ x $$ y $tag$", "SELECT ?, ?"},
		"dollar_open":              {"SELECT $a$ secret", "SELECT …"},
		"dollar_parameter":         {"a = $1 AND b = $12", "a = $1 AND b = $12"},
		"dollar_alone":             {"a $ b", "a $ b"},
		"dollar_in_name":           {"v$session", "v$session"},
		"named_parameters":         {"a = :name AND b = @p AND c = ?", "a = :name AND b = @p AND c = ?"},
		"other_scripts":            {"SELECT größe2 FROM 表3 WHERE x='é'", "SELECT größe2 FROM 表3 WHERE x=?"},
		"invalid_utf8":             {"SELECT \xff", "SELECT \uFFFD"},
		"slash_and_minus_operator": {"a/b-c", "a/b-c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rows.Fingerprint(c.statement); got != c.want {
				t.Errorf("Fingerprint(%q) = %q, want %q", c.statement, got, c.want)
			}
		})
	}
}

// Whatever is put between single quotes, none of it is left.
func TestFingerprintHidesStrings(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	pieces := []string{"ZZ", "''", `\`, `\\`, "\n", "--", "/*", "*/", `"`, "$$", "9", "é", " "}
	for range 2000 {
		var text strings.Builder
		for range random.IntN(8) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		statement := "SELECT a FROM t WHERE b = 'ZZ" + text.String() + "ZZ'"
		if got := rows.Fingerprint(statement); strings.Contains(got, "ZZ") {
			t.Fatalf("Fingerprint(%q) = %q shows the string", statement, got)
		}
	}
}

func FuzzFingerprint(f *testing.F) {
	for _, seed := range []string{"SELECT 'a' /* b */ -- c\n FROM \"t\" WHERE x = $1", `'\'`, "$$", "1e", "/*/**/", "`", "é'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, statement string) {
		got := rows.Fingerprint(statement)
		if strings.ContainsAny(got, "\r\n\t") {
			t.Errorf("Fingerprint(%q) = %q, want one line", statement, got)
		}
		if len(got) > 3*len(statement)+8 {
			t.Errorf("Fingerprint of %d bytes has %d", len(statement), len(got))
		}
	})
}
