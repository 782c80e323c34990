package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/toolharness/harness/benchmarks/section"
	"github.com/toolharness/harness/internal/redistest"
)

// All sections work, and their tables have every cell that they promise: what makes
// a number is tested where it is made.
func TestBench_prints_a_table_for_every_section(t *testing.T) {
	t.Parallel()
	redistest.Shared(t) // says loudly what is missing
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-once", "-o", "json"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tables []struct {
			Title   string
			Columns []struct{ Name string }
			Rows    [][]any
			Notes   []string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if got, want := len(doc.Tables), len(section.All()); got != want {
		t.Fatalf("%d tables, want %d", got, want)
	}
	for _, table := range doc.Tables {
		if len(table.Rows) == 0 {
			t.Errorf("%s: no rows", table.Title)
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("%s: a row of %d cells for %d columns", table.Title, len(row), len(table.Columns))
			}
		}
	}
	cluster := doc.Tables[len(doc.Tables)-1]
	if note := strings.Join(cluster.Notes, " "); !strings.Contains(note, "CROSSSLOT): 0.") {
		t.Errorf("the cluster says %q, want that nothing left its slot", note)
	}
}

func TestParse_refuses_what_cannot_be_measured(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"-rounds 0", "-calls 0", "-bytes 0", "-sizes 16", "-sizes 1024,x", "-sizes 9999999", "-callers 0", "-o xml", "-only (", "-long 10", "-long 500 -full 400", "calls", "-speed",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("parse(%q) is taken", args)
		}
	}
	o, err := parse([]string{"-whole", "-callers", "1, 2"}, io.Discard)
	if err != nil || o.Long != 100_000 || o.Full != 1_000_000 || len(o.Callers) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}
