package console

import "strings"

// Widths are the widths of the columns that these rows need, in characters.
func Widths(rows [][]string) []int {
	var widest []int
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(widest) {
				widest = append(widest, 0)
			}
			widest[i] = max(widest[i], len([]rune(cell)))
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
			pad = strings.Repeat(" ", max(widths[i]-len([]rune(cell)), 0))
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
