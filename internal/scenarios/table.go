package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// anyStore stands in the stores column of a row that the store has no part in.
const anyStore = "-"

// stores are the words a row may ask for, in the order they are printed.
func stores() []string { return []string{anyStore, "fake", "embedded", "redis", "cluster", "local"} }

// row is one scenario.
type row struct {
	number string // "P01"
	words  string
	stores []string
}

var rowNumber = regexp.MustCompile(`^[A-Z][0-9]{2,3}$`)

// readTable takes every table line whose first cell is a scenario's number.
// Other tables and prose may stand around them.
func readTable(in io.Reader) ([]row, error) {
	var rows []row
	seen := map[string]int{}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		cells, ok := cellsOf(lines.Text())
		if !ok || !rowNumber.MatchString(cells[0]) {
			continue
		}
		r, err := readRow(cells)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if first, twice := seen[r.number]; twice {
			return nil, fmt.Errorf("line %d: %s stands in line %d already", n, r.number, first)
		}
		seen[r.number] = n
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no row of the form | T01 | words | stores |")
	}
	return rows, nil
}

// cellsOf splits a table line. A pipe inside a cell is written \| as everywhere
// in Markdown tables.
func cellsOf(line string) ([]string, bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") || len(line) < 2 {
		return nil, false
	}
	const escaped = "\x00"
	line = strings.ReplaceAll(line[1:len(line)-1], `\|`, escaped)
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, escaped, "|"))
	}
	return cells, true
}

func readRow(cells []string) (row, error) {
	if len(cells) != 3 {
		return row{}, fmt.Errorf("%s has %d cells, want number, words, stores", cells[0], len(cells))
	}
	r := row{number: cells[0], words: cells[1], stores: strings.Fields(cells[2])}
	if r.words == "" {
		return row{}, fmt.Errorf("%s says nothing", r.number)
	}
	if len(r.stores) == 0 {
		return row{}, fmt.Errorf("%s names no store; %q is for a row that needs none", r.number, anyStore)
	}
	for i, s := range r.stores {
		if !slices.Contains(stores(), s) {
			return row{}, fmt.Errorf("%s names the unknown store %q", r.number, s)
		}
		if slices.Contains(r.stores[:i], s) {
			return row{}, fmt.Errorf("%s names the store %q twice", r.number, s)
		}
	}
	if len(r.stores) > 1 && slices.Contains(r.stores, anyStore) {
		return row{}, fmt.Errorf("%s names a store and %q", r.number, anyStore)
	}
	return r, nil
}
