package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestReadTable_takes_rows_and_nothing_else(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := readTable(file)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []string
	for _, r := range rows {
		numbers = append(numbers, r.number)
	}
	if want := []string{"T01", "T02", "P01", "P10"}; !slices.Equal(numbers, want) {
		t.Fatalf("rows %q, want %q", numbers, want)
	}
	if got := rows[2]; got.words != "the reply is lost; `a|b`" || !slices.Equal(got.stores, []string{"fake", "embedded", "redis"}) {
		t.Errorf("row P01 read as %+v", got)
	}
}

func TestReadTable_refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"no row":            {"# nothing\n| a | b | c |\n", "no row"},
		"a number twice":    {"| T01 | a | - |\n\n| T01 | b | - |\n", "line 3: T01 stands in line 1 already"},
		"an unknown store":  {"| T01 | a | fake memory |\n", `unknown store "memory"`},
		"a store twice":     {"| T01 | a | fake fake |\n", "twice"},
		"no store":          {"| T01 | a | |\n", "names no store"},
		"store and none":    {"| T01 | a | - redis |\n", `names a store and "-"`},
		"no words":          {"| T01 | | - |\n", "says nothing"},
		"too few cells":     {"| T01 | a |\n", "2 cells"},
		"a pipe in a cell":  {"| T01 | a|b | - |\n", "4 cells"},
		"line that is long": {"| T01 | " + strings.Repeat("x", 1<<17) + " | - |\n", "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, err := readTable(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("rows %v, error %v, want one with %q", rows, err, c.want)
			}
		})
	}
}

// The project's own table must always be readable, whatever tests exist yet.
func TestReadTable_of_this_repository(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := readTable(file)
	if err != nil {
		t.Fatal(err)
	}
	count := map[byte]int{}
	for _, r := range rows {
		count[r.number[0]]++
	}
	if count['T'] < 60 || count['P'] < 40 {
		t.Errorf("%d T rows and %d P rows, want at least 60 and 40", count['T'], count['P'])
	}
}
