package console

import "strings"

// Bounds of a paragraph, in cells: longer lines are hard to read, and in shorter ones little is left of a text.
const (
	widest    = 116
	narrowest = 40
)

// Paragraph prints one text, broken between words into lines that fit, the later ones set in further.
func (c *Console) Paragraph(indent, text string) {
	room := widest
	if c.width > 0 {
		room = min(max(c.width-1, narrowest), widest)
	}
	further := indent + "    "
	for i, line := range wrap(text, room-len(indent), room-len(further)) {
		if i > 0 {
			indent = further
		}
		c.Line("%s", indent+line)
	}
}

// Long prints one text that somebody may search for: in a pipe it stays one line, and on a terminal, which would break it
// inside a word, it is a paragraph.
func (c *Console) Long(indent, text string) {
	if c.width == 0 {
		c.Line("%s", indent+text)
		return
	}
	c.Paragraph(indent, text)
}

// wrap breaks a text at blanks, and a word that fits on no line between two characters. No character is lost but the
// blank at which a line was broken.
func wrap(text string, first, later int) []string {
	var lines []string
	line, left, empty := "", first, true
	next := func() { lines, line, left, empty = append(lines, line), "", later, true }
	for word := range strings.SplitSeq(text, " ") {
		if !empty && Cells(word)+1 > left {
			next()
		}
		if !empty {
			line, left = line+" ", left-1
		}
		for Cells(word) > left {
			part := cut(word, left)
			line, word = line+part, word[len(part):]
			next()
		}
		line, left, empty = line+word, left-Cells(word), false
	}
	return append(lines, line)
}
