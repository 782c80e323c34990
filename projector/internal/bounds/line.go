package bounds

import (
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
)

// Clip makes one safe line of text, of at most limit bytes. A line that was cut
// ends in [evidence.ClipMark] and, where there is room for it, the number of
// bytes of the whole text.
func Clip(text string, limit int) string {
	line := evidence.Line(text, math.MaxInt)
	if len(line) <= limit {
		return line
	}
	size := fmt.Sprintf("[%d bytes]", len(text))
	if room := limit - len(size); room > len(evidence.ClipMark) {
		return evidence.Clip(line, room) + size
	}
	return evidence.Clip(line, limit)
}

// Quote is text as one line in JSON quotes, of at most limit bytes with them, so
// that an instruction found in a result stays a quotation. The quotes survive a
// cut. A limit below two quotes and a mark gives an empty quotation.
func Quote(text string, limit int) string {
	for most := limit - len(`""`); most > 0; {
		quoted, _ := jsontext.AppendQuote(nil, evidence.Line(text, most)) // a line is valid UTF-8
		over := len(quoted) - limit
		if over <= 0 {
			return string(quoted)
		}
		most -= over/len(`\u0000`) + 1 // an escape stands for at least one byte of text
	}
	return `""`
}

// Plural is a count with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
