package lifecycle_test

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/lifecycle"
)

// states are all that a record can be in, what it is in without a record, and
// one that does not exist.
func states() []lifecycle.State {
	return []lifecycle.State{"", lifecycle.Projecting, lifecycle.Ready, lifecycle.Error, "DONE"}
}

// The diagram of the package comment and the code must say the same. Whoever
// changes one has to change the other.
func TestDiagram_is_the_transitions(t *testing.T) {
	t.Parallel()
	drawn := arrows(packageComment(t))
	var coded []string
	for _, from := range states() {
		for _, to := range states() {
			if from.CanBecome(to) {
				coded = append(coded, string(from)+" -> "+string(to))
			}
		}
	}
	coded = append(coded, "admitted -> PROJECTING")
	slices.Sort(coded)
	if !slices.Equal(drawn, coded) {
		t.Errorf("the diagram has %q, the code %q", drawn, coded)
	}
}

// A reader of diagrams that saw nothing would find every diagram right.
func TestDiagram_reader_sees_what_is_drawn(t *testing.T) {
	t.Parallel()
	comment := packageComment(t)
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"as it is", "", "", []string{"PROJECTING -> ERROR", "PROJECTING -> READY", "admitted -> PROJECTING"}},
		{"an arrow taken away", "--> | READY |", "--- | READY |", []string{"PROJECTING -> ERROR", "admitted -> PROJECTING"}},
		{"a box renamed", "| ERROR |", "| FAILS |", []string{"PROJECTING -> FAILS", "PROJECTING -> READY", "admitted -> PROJECTING"}},
		{"an arrow from a final state", "| READY |", "| READY | --> | GONE |", []string{"PROJECTING -> ERROR", "PROJECTING -> READY", "READY -> GONE", "admitted -> PROJECTING"}},
		{"no way in", "v", " ", []string{"PROJECTING -> ERROR", "PROJECTING -> READY"}},
	} {
		if got := arrows(strings.ReplaceAll(comment, c.old, c.new)); !slices.Equal(got, c.want) {
			t.Errorf("%s: read %q, want %q", c.name, got, c.want)
		}
	}
}

func packageComment(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil || file.Doc == nil {
		t.Fatalf("doc.go: %v", err)
	}
	var lines []string
	for _, c := range file.Doc.List {
		lines = append(lines, strings.TrimPrefix(c.Text, "//"))
	}
	if len(lines) < 10 {
		t.Fatalf("the package comment has %d lines", len(lines))
	}
	return strings.Join(lines, "\n")
}

// grid is a drawing, addressed by line and column. Outside is blank.
type grid []string

func (g grid) at(y, x int) byte {
	if y < 0 || y >= len(g) || x < 0 || x >= len(g[y]) {
		return ' '
	}
	return g[y][x]
}

// arrows lists what a drawing of boxes says, as "FROM -> TO", sorted.
func arrows(drawing string) []string {
	g := grid(strings.Split(drawing, "\n"))
	var out []string
	for y := range g {
		for x := range len(g[y]) {
			switch {
			case g.at(y, x) == '>' && g.at(y, x-1) == '-' && g.at(y, x-2) == '-':
				out = append(out, g.leftwards(y, x-1)+" -> "+g.boxRight(y, x+1))
			case g.at(y, x) == 'v' && g.at(y-1, x) == '|' && g.at(y+1, x) == '-':
				out = append(out, g.upwards(y-1, x)+" -> "+g.boxRight(y+2, x-strings.IndexByte(reversed(g[y+2][:x]), '|')-1))
			}
		}
	}
	slices.Sort(out)
	return out
}

// leftwards follows a line of dashes to a box, or round a corner upwards.
func (g grid) leftwards(y, x int) string {
	for g.at(y, x) == '-' {
		x--
	}
	if g.at(y, x) == '+' {
		return g.upwards(y-1, x)
	}
	return g.wordLeft(y, x)
}

// upwards follows a line of bars to the bottom of a box, or to a word.
func (g grid) upwards(y, x int) string {
	for g.at(y, x) == '|' {
		y--
	}
	if g.at(y, x) != '-' {
		return g.wordAround(y, x)
	}
	return g.wordAround(y-1, x)
}

func (g grid) wordLeft(y, x int) string {
	fields := strings.FieldsFunc(g[y][:max(0, x+1)], notWord)
	if len(fields) == 0 {
		return ""
	}
	return fields[len(fields)-1]
}

// boxRight is the word of the box that begins at x or right of it.
func (g grid) boxRight(y, x int) string {
	fields := strings.FieldsFunc(g[y][min(max(0, x), len(g[y])):], notWord)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// wordAround is the word in line y that column x goes through.
func (g grid) wordAround(y, x int) string {
	begin := x
	for !notWord(rune(g.at(y, begin-1))) {
		begin--
	}
	return g.boxRight(y, begin)
}

func notWord(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_')
}

func reversed(text string) string {
	b := []byte(text)
	slices.Reverse(b)
	return string(b)
}
