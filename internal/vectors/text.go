package vectors

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// UTF8Vector is one byte sequence of utf8-tests.
type UTF8Vector struct {
	ID    string // number of the case in the original table: "1.0.1"
	Valid bool   // whether Bytes are UTF-8 as RFC 3629 has it
	Bytes []byte
}

// UTF8Tests returns the sequences of testdata/utf8-tests in the order of the
// original table. It fails t when their number is not the one in
// expected.json.
func UTF8Tests(t testing.TB) []UTF8Vector {
	t.Helper()
	out, err := loadUTF8(Dir(t, "utf8-tests"))
	if err != nil {
		t.Fatalf("vectors: utf8-tests: %v", err)
	}
	return out
}

func loadUTF8(dir string) ([]UTF8Vector, error) {
	var expected struct {
		Cases int `json:"cases"`
	}
	if err := readJSON(filepath.Join(dir, "expected.json"), &expected); err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(dir, "utf8tests.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out []UTF8Vector
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		v, err := utf8Vector(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return out, sameCount(len(out), expected.Cases)
}

func utf8Vector(line []byte) (UTF8Vector, error) {
	var row struct {
		ID    string `json:"id"`
		Valid *bool  `json:"valid"`
		Hex   string `json:"hex"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return UTF8Vector{}, err
	}
	if row.ID == "" || row.Valid == nil {
		return UTF8Vector{}, fmt.Errorf("id or valid is missing")
	}
	text, err := hex.DecodeString(row.Hex)
	if err != nil {
		return UTF8Vector{}, fmt.Errorf("case %s: %w", row.ID, err)
	}
	return UTF8Vector{ID: row.ID, Valid: *row.Valid, Bytes: text}, nil
}

// NaughtyStrings returns the strings of testdata/naughty-strings in file order;
// one of them is empty. It fails t when their number is not the one in
// expected.json.
func NaughtyStrings(t testing.TB) []string {
	t.Helper()
	out, err := loadNaughty(Dir(t, "naughty-strings"))
	if err != nil {
		t.Fatalf("vectors: naughty-strings: %v", err)
	}
	return out
}

func loadNaughty(dir string) ([]string, error) {
	var expected struct {
		Strings int `json:"strings"`
	}
	if err := readJSON(filepath.Join(dir, "expected.json"), &expected); err != nil {
		return nil, err
	}
	var out []string
	if err := readJSON(filepath.Join(dir, "blns.json"), &out); err != nil {
		return nil, err
	}
	return out, sameCount(len(out), expected.Strings)
}
