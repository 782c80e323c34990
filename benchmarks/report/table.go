package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Column is one column of a table.
type Column struct {
	Name   string `json:"name"`
	Digits int    `json:"-"` // behind the point, for numbers
}

// Table is one section's result. Cells are text, numbers, or have a String method;
// nil is a cell without a value.
type Table struct {
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Notes   []string `json:"notes,omitempty"` // what was seen besides, and what was missing
}

// Add appends a row; it has as many cells as there are columns.
func (t *Table) Add(cells ...any) {
	for i, cell := range cells {
		if n, ok := cell.(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
			cells[i] = nil // JSON has no such number
		}
	}
	t.Rows = append(t.Rows, cells)
}

// Notef appends a note.
func (t *Table) Notef(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}

// text writes the table as Markdown with columns that line up.
func (t Table) text(w io.Writer) error {
	lines := [][]string{nil, nil}
	for _, c := range t.Columns {
		lines[0] = append(lines[0], c.Name)
	}
	for _, row := range t.Rows {
		var line []string
		for i, cell := range row {
			line = append(line, t.cell(i, cell))
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(t.Columns))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, width := range widths {
		lines[1] = append(lines[1], strings.Repeat("-", width))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\n", t.Title)
	for _, line := range lines {
		for i, cell := range line {
			fmt.Fprintf(&out, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		out.WriteString("|\n")
	}
	out.WriteString("\n")
	for _, note := range t.Notes {
		out.WriteString(note + "\n\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (t Table) cell(column int, cell any) string {
	switch cell := cell.(type) {
	case nil:
		return "-"
	case float64:
		return fmt.Sprintf("%.*f", t.Columns[column].Digits, cell)
	default:
		return fmt.Sprint(cell)
	}
}
