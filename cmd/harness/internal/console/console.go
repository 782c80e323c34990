package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Console prints to one place.
type Console struct {
	out    io.Writer
	width  int // cells of the terminal; zero when there is none
	colour bool
	status bool
	err    error
}

// For looks whether the file is a terminal and how wide it is. The width is taken once.
func For(file *os.File) *Console {
	if !term.IsTerminal(int(file.Fd())) {
		return New(file, 0)
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 1 {
		width = 80 // what a terminal that does not tell its size most often has
	}
	return New(file, width)
}

// New prints to a writer. A width of zero means that it is no terminal.
func New(out io.Writer, width int) *Console { return &Console{out: out, width: max(width, 0)} }

// Colour lets [Console.Strong] and [Console.Alert] mark their text, on a terminal. It is off at first.
func (c *Console) Colour(on bool) { c.colour = on }

// Strong is the text as a heading.
func (c *Console) Strong(text string) string { return c.mark("1", text) }

// Alert is the text as one that must not be overlooked.
func (c *Console) Alert(text string) string { return c.mark("31", text) }

// mark puts the text between a graphic rendition and its end (ECMA-48, SGR).
func (c *Console) mark(rendition, text string) string {
	if c.width == 0 || !c.colour {
		return text
	}
	return "\x1b[" + rendition + "m" + text + "\x1b[0m"
}

// Line prints one line that stays.
func (c *Console) Line(format string, args ...any) {
	c.clear()
	c.write(fmt.Sprintf(format, args...) + "\n")
}

// Status shows what is going on, in place of the status before. Without a terminal it does nothing.
func (c *Console) Status(format string, args ...any) {
	if c.width == 0 {
		return
	}
	c.clear()
	// One cell is left free: many terminals go to the next line when the last one is filled.
	c.write(cut(Plain(fmt.Sprintf(format, args...)), c.width-1))
	c.status = true
}

// Close takes the status away. The Console can be used afterwards.
func (c *Console) Close() { c.clear() }

// Err is the first error of the writer, or nil.
func (c *Console) Err() error { return c.err }

func (c *Console) clear() {
	if c.status {
		c.write("\r\x1b[K") // to the first column, and erase to the end of the line (ECMA-48, EL)
		c.status = false
	}
}

func (c *Console) write(text string) {
	if c.err == nil {
		_, c.err = io.WriteString(c.out, text)
	}
}

// cut is the beginning of a text that fits into so many cells.
func cut(text string, cells int) string {
	for i, r := range text {
		if cells -= cellsOf(r); cells < 0 {
			return text[:i]
		}
	}
	return text
}

// Block takes the power out of a text of several lines: as [Plain], but line feeds and tabs stay.
func Block(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Plain puts a text on one line and takes the power out of it: line ends become blanks, and characters that are not
// printable become U+FFFD, escape sequences and marks that reorder text included.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
