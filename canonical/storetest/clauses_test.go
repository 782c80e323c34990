package storetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// contract reads the clauses out of the comments of the Store interfaces.
func contract(t *testing.T) []clause {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../store.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`^\s+(K\d\d) (.*)$`)
	var found []clause
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		inside := false
		for _, line := range strings.Split(g.Doc.Text(), "\n") {
			if m := number.FindStringSubmatch(line); m != nil {
				found = append(found, clause{m[1], m[2]})
				inside = true
			} else if inside && strings.HasPrefix(line, "\t") {
				found[len(found)-1].text += " " + strings.TrimSpace(line)
			} else {
				inside = false
			}
		}
	}
	return found
}

func TestClauses_are_those_of_the_contract(t *testing.T) {
	t.Parallel()
	want, got := contract(t), clauses()
	if len(want) < 50 {
		t.Fatalf("only %d clauses found in the contract; the parser of this test is wrong", len(want))
	}
	if len(got) != len(want) {
		t.Errorf("%d clauses are quoted here, the contract has %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("clause %d here:\n%s %s\nin the contract:\n%s %s", i, got[i].id, got[i].text, want[i].id, want[i].text)
		}
	}
}

func TestClauses_each_has_a_subtest_and_vice_versa(t *testing.T) {
	t.Parallel()
	known, seen := map[string]bool{}, map[string]bool{}
	for _, c := range clauses() {
		known[c.id] = true
	}
	names := map[string]bool{}
	for _, s := range subtests() {
		if names[s.name] {
			t.Errorf("two subtests are called %s", s.name)
		}
		names[s.name] = true
		ids := s.clauses()
		if len(ids) == 0 {
			t.Errorf("%s names no clause", s.name)
		}
		for _, id := range ids {
			seen[id] = true
			if !known[id] {
				t.Errorf("%s names %s, which the contract does not have", s.name, id)
			}
		}
	}
	for id := range known {
		if !seen[id] {
			t.Errorf("no subtest checks %s", id)
		}
	}
}

func TestQuote_has_the_whole_clause(t *testing.T) {
	t.Parallel()
	text := quote([]string{"K19", "K01"})
	for _, want := range []string{"K01: open creates a run", "K19: A deadline that is exactly now has passed."} {
		if !strings.Contains(text, want) {
			t.Errorf("quote = %q, want %q in it", text, want)
		}
	}
}

func TestSubtests_without_a_capability_are_skipped_aloud(t *testing.T) {
	t.Parallel()
	all := needsKeys | needsFingerprint | needsSnapshot | needsPlants | needsCorrupt | needsRawReads | needsDropPiece | needsScopeKeys
	if got := all.missing(Harness{}); len(got) != 8 {
		t.Errorf("an empty harness lacks %v, want all eight", got)
	}
	told := ""
	s := subtest{name: "K01_x", needs: needsKeys, check: func(*probe) { t.Error("a subtest ran without what it needs") }}
	s.run(skips{&told}, Harness{})
	if !strings.Contains(told, "NOT CHECKED") {
		t.Errorf("told %q, want it to say what was not checked", told)
	}
}

// skips is a T that keeps what was said on skipping.
type skips struct{ told *string }

func (skips) Helper()                            {}
func (skips) Errorf(string, ...any)              {}
func (skips) Fatalf(string, ...any)              {}
func (s skips) Skipf(format string, args ...any) { *s.told = format }
