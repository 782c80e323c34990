package vectors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestJSONTestSuite_classes_agree_with_a_parser(t *testing.T) {
	t.Parallel()
	count := map[Class]int{}
	for _, v := range JSONTestSuite(t) {
		count[v.Class]++
		if got := utf8.Valid(v.Bytes); got != v.ValidUTF8 {
			t.Errorf("%s: UTF-8 %v, want %v", v.Name, got, v.ValidUTF8)
		}
		valid := json.Valid(v.Bytes)
		if v.Class == MustAccept && !valid || v.Class == MustReject && valid && v.ValidUTF8 {
			t.Errorf("%s: encoding/json valid %v, class %c", v.Name, valid, v.Class)
		}
	}
	want := map[Class]int{MustAccept: 74, MustReject: 141, MayChoose: 24, Ambiguous: 17}
	for class, n := range want {
		if count[class] != n {
			t.Errorf("class %c: %d texts, want %d", class, count[class], n)
		}
	}
}

func TestJSONTestSuite_knows_repeats_and_depth(t *testing.T) {
	t.Parallel()
	var repeats, deep int
	for _, v := range JSONTestSuite(t) {
		if v.Repeats {
			repeats++
		}
		if v.Depth > 100 {
			deep++
		}
	}
	if repeats == 0 || deep == 0 {
		t.Errorf("%d texts repeat a member and %d nest deeper than 100, want some of both", repeats, deep)
	}
}

func TestUTF8Tests_agree_with_the_standard_library(t *testing.T) {
	t.Parallel()
	valid, all := 0, UTF8Tests(t)
	for _, v := range all {
		if got := utf8.Valid(v.Bytes); got != v.Valid {
			t.Errorf("case %s: utf8.Valid %v, want %v", v.ID, got, v.Valid)
		}
		if v.Valid {
			valid++
		}
	}
	if len(all) != 167 || valid != 57 {
		t.Errorf("%d cases, %d valid, want 167 and 57", len(all), valid)
	}
}

func TestNaughtyStrings_hold_what_expected_json_counts(t *testing.T) {
	t.Parallel()
	all := NaughtyStrings(t)
	empty, longest := 0, 0
	for _, s := range all {
		if s == "" {
			empty++
		}
		longest = max(longest, len(s))
	}
	if len(all) != 387 || empty != 1 || longest != 803 {
		t.Errorf("%d strings, %d empty, longest %d bytes, want 387, 1, 803", len(all), empty, longest)
	}
}

func TestRoot_passes_by_a_nested_module(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	deep := filepath.Join(top, "cmd", "program", "inner")
	write(t, filepath.Join(top, "go.mod"), "// first a comment\n\nmodule "+Module+"\n\ngo 1.26\n")
	write(t, filepath.Join(top, "cmd", "program", "go.mod"), "module "+Module+"/cmd/program\n")
	write(t, filepath.Join(deep, "x.go"), "package inner\n")

	got, err := findRoot(deep)
	if err != nil || got != top {
		t.Errorf("findRoot = %q, %v, want %q", got, err, top)
	}
}

func TestRoot_outside_the_repository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/other\n")
	if got, err := findRoot(dir); err == nil {
		t.Errorf("findRoot = %q, want an error", got)
	}
	write(t, filepath.Join(dir, "go.mod"), "go 1.26\n")
	if got, err := findRoot(dir); err == nil {
		t.Errorf("findRoot with a broken go.mod = %q, want an error", got)
	}
}

// A loader that returned nothing would make every test that loops over it pass.
func TestLoaders_refuse_a_set_that_is_not_whole(t *testing.T) {
	t.Parallel()
	const yes = `{"test_parsing/y_a.json":{"class":"y","valid_utf8":true,"bytes":2,"max_depth":1}`
	loaders := map[string]func(string) error{
		"json":    func(dir string) error { _, err := loadJSON(dir); return err },
		"utf8":    func(dir string) error { _, err := loadUTF8(dir); return err },
		"naughty": func(dir string) error { _, err := loadNaughty(dir); return err },
	}
	cases := []struct {
		name, loader string
		files        map[string]string
		want         string // part of the error; empty: loads
	}{
		{"json whole", "json", map[string]string{"expected.json": yes + "}", "test_parsing/y_a.json": "[]"}, ""},
		{"json without files", "json", map[string]string{"expected.json": "{}"}, "no elements"},
		{"json one file short", "json", map[string]string{"expected.json": yes + `,"test_parsing/n_b.json":{"class":"n"}}`, "test_parsing/y_a.json": "[]"}, "1 elements"},
		{"json unknown file", "json", map[string]string{"expected.json": "{}", "test_parsing/y_a.json": "[]"}, "not in expected.json"},
		{"json changed file", "json", map[string]string{"expected.json": yes + "}", "test_parsing/y_a.json": "[]\r\n"}, "4 bytes"},
		{"json unknown class", "json", map[string]string{"expected.json": `{"test_parsing/z.json":{"class":"z","bytes":1}}`, "test_parsing/z.json": "1"}, "unknown class"},
		{"json broken expectation", "json", map[string]string{"expected.json": "{"}, "expected.json"},
		{"utf8 whole", "utf8", map[string]string{"expected.json": `{"cases":1}`, "utf8tests.jsonl": `{"id":"1","valid":true,"hex":"31"}` + "\n"}, ""},
		{"utf8 empty", "utf8", map[string]string{"expected.json": `{"cases":0}`, "utf8tests.jsonl": ""}, "no elements"},
		{"utf8 no verdict", "utf8", map[string]string{"expected.json": `{"cases":1}`, "utf8tests.jsonl": `{"id":"1","hex":"31"}`}, "line 1"},
		{"utf8 bad hex", "utf8", map[string]string{"expected.json": `{"cases":1}`, "utf8tests.jsonl": `{"id":"1","valid":true,"hex":"3"}`}, "case 1"},
		{"utf8 bad line", "utf8", map[string]string{"expected.json": `{"cases":1}`, "utf8tests.jsonl": "nonsense"}, "line 1"},
		{"naughty whole", "naughty", map[string]string{"expected.json": `{"strings":2}`, "blns.json": `["","a"]`}, ""},
		{"naughty empty", "naughty", map[string]string{"expected.json": `{"strings":0}`, "blns.json": `[]`}, "no elements"},
		{"naughty missing", "naughty", map[string]string{"expected.json": `{"strings":1}`}, "blns.json"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folders(t, dir)
			for name, text := range c.files {
				write(t, filepath.Join(dir, name), text)
			}
			err := loaders[c.loader](dir)
			if c.want == "" && err != nil {
				t.Fatalf("error %v, want none", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func folders(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"test_parsing", "test_transform"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
