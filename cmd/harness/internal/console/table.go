package console

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Cells is how many cells of a terminal a text takes: characters that East Asian Width (UAX 11) calls wide or full take
// two, all others one. It is meant for text that [Plain] has made.
func Cells(text string) int {
	cells := 0
	for _, r := range text {
		cells += cellsOf(r)
	}
	return cells
}

func cellsOf(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Widths are the widths of the columns that these rows need, in cells.
func Widths(rows [][]string) []int {
	var widest []int
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(widest) {
				widest = append(widest, 0)
			}
			widest[i] = max(widest[i], Cells(cell))
		}
	}
	return widest
}

// Row pads every cell but the last to the width of its column, numbers from the left. It ends without
// blanks, and a row may have more cells than there are widths.
func Row(widths []int, cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		pad := ""
		if i < len(widths) {
			pad = strings.Repeat(" ", max(widths[i]-Cells(cell), 0))
		}
		if i > 0 {
			b.WriteString("  ")
		}
		if isNumber(cell) {
			b.WriteString(pad + cell)
			continue
		}
		b.WriteString(cell + pad)
	}
	return strings.TrimRight(b.String(), " ")
}

func isNumber(cell string) bool { return cell != "" && strings.Trim(cell, "0123456789") == "" }
