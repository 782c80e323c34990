package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/place"
)

// Text is a [Screen] for people: on a terminal a bar while a file is replayed, and a table at the end. Names of files are
// made harmless before they are printed.
type Text struct {
	out   *console.Console
	where string // the file, and its place among the files
}

// NewText prints to a console, whose error the caller asks for at the end.
func NewText(out *console.Console) *Text { return &Text{out: out} }

// Reading shows the file that is read, where that can be taken back.
func (t *Text) Reading(file string, n, of int) {
	t.where = file
	if of > 1 {
		t.where = fmt.Sprintf("file %d of %d: %s", n, of, file)
	}
	t.out.Status("reading %s", t.where)
}

// cells is the width of the bar, and steps how often it is drawn anew at most: a large file has more calls than anybody
// can see.
const (
	cells = 24
	steps = 500
)

// Replayed moves the bar.
func (t *Text) Replayed(calls, of int) {
	step := calls * steps / max(of, 1)
	if before := (calls - 1) * steps / max(of, 1); calls > 1 && step == before {
		return
	}
	full := calls * cells / max(of, 1)
	bar := strings.Repeat("#", full) + strings.Repeat("-", cells-full)
	t.out.Status("[%s] %d of %d calls, %s", bar, calls, of, t.where)
}

// End prints the table, the codes, and whether everything came back as it was recorded.
func (t *Text) End(d Document) {
	defer t.out.Close()
	if len(d.Files) == 0 {
		return
	}
	t.table(d)
	t.codes("refused", d.Refused)
	t.codes("failed", d.failed)
	t.out.Line("")
	if d.RawMismatch > 0 {
		t.out.Line("%s", t.out.Alert(fmt.Sprintf("%d of %d ready results, %s, are not what was recorded.", d.RawMismatch, d.Ready, readBack(d.Store))))
	} else {
		t.out.Line("All %d ready results, %s, are what was recorded. Store: %s.", d.Ready, readBack(d.Store), d.Store)
	}
	t.left(d.Store, d.Kept)
}

func (t *Text) table(d Document) {
	rows := [][]string{{"file", "calls", "results", "admitted", "ready", "failed", "refused", "no id", "unanswered", "raw bytes", "to the model", "differ"}}
	for _, f := range d.Files {
		rows = append(rows, cellsOf(console.Plain(f.Name), f.Counts))
	}
	if len(d.Files) > 1 {
		rows = append(rows, cellsOf("all", d.Counts))
	}
	widths := console.Widths(rows)
	for i, cells := range rows {
		line := console.Row(widths, cells)
		if i == 0 {
			line = t.out.Strong(line)
		}
		t.out.Line("%s", line)
	}
}

func cellsOf(name string, c Counts) []string {
	row := []string{name}
	for _, n := range []int64{
		int64(c.Calls), int64(c.Results), int64(c.Admitted), int64(c.Ready), int64(sum(c.failed)), int64(sum(c.Refused)),
		int64(c.NoID), int64(c.Unanswered), c.RawBytes, c.AgentBytes, int64(c.RawMismatch),
	} {
		row = append(row, strconv.FormatInt(n, 10))
	}
	return row
}

// codes prints how many calls ended with each code.
func (t *Text) codes(how string, codes map[boundary.Code]int) {
	if len(codes) == 0 {
		return
	}
	t.out.Line("")
	var rows [][]string
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		rows = append(rows, []string{how, strconv.Itoa(codes[code]), string(code)})
	}
	widths := console.Widths(rows)
	for _, cells := range rows {
		t.out.Line("%s", console.Row(widths, cells))
	}
}

// readBack says how results were read again: one process has a local store, and one client in it.
func readBack(store string) string {
	if store == place.NameLocal {
		return "read back from the file"
	}
	return "read back through a second client"
}

func (t *Text) left(store string, k Kept) {
	if k.Keys == 0 {
		return
	}
	t.out.Line("")
	t.out.Line("%s until they expire.", place.Left(store, k.Keys))
	if k.LookWith == "" {
		return
	}
	t.out.Line("To look at one record:")
	t.out.Line("  %s", k.LookWith)
	if k.NeedsPassword {
		t.out.Line("  with the password in REDISCLI_AUTH")
	}
}

// Silent is a [Screen] that shows nothing; the document is all.
type Silent struct{}

// Reading shows nothing.
func (Silent) Reading(string, int, int) {}

// Replayed shows nothing.
func (Silent) Replayed(int, int) {}

// End shows nothing.
func (Silent) End(Document) {}
