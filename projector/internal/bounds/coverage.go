package bounds

import (
	"slices"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// ShortestLine is the least limit that [Coverage] asks for, in bytes.
const ShortestLine = 16

// Coverage calls build with limits for a line, from the longest that a coverage
// may have downwards, until the coverage takes at most half of the bytes that it
// shares with the facts. It returns the coverage and what is left for facts. A
// coverage that build cannot make small enough is a *projector.Error.
func Coverage(limits projector.Limits, build func(line int) evidence.Coverage) (c evidence.Coverage, room int, err error) {
	half := limits.FactsBytes / 2
	for line := evidence.MaxCoverageLine; ; line /= 2 {
		c = build(line)
		encoded, err := evidence.EncodeCoverage(c)
		if err != nil {
			return evidence.Coverage{}, 0, err
		}
		if len(encoded) <= half {
			return c, limits.FactsBytes - len(encoded), nil
		}
		if line/2 < ShortestLine {
			return evidence.Coverage{}, 0, tooLarge(len(encoded), half)
		}
	}
}

// Entries is how many entries a list of a coverage may have at a limit for a
// line: the shorter the lines must be, the fewer there are.
func Entries(line int) int { return max(line/ShortestLine, 1) }

// Lines makes safe lines of texts, each behind a word that says what it is, and
// counts those over the number of entries in a last line.
func Lines(word string, texts []string, line int) []string {
	most := Entries(line)
	if len(texts) <= most {
		most = len(texts)
	} else {
		most-- // the place of the count
	}
	var out []string
	for _, text := range texts[:most] {
		out = append(out, evidence.Line(word+" "+text, line))
	}
	if more := len(texts) - most; more > 0 {
		out = append(out, evidence.Line(Plural(more, "more "+word), line))
	}
	return out
}

// Gaps makes gaps that a coverage of this limit for a line can hold, and counts
// those over the number of entries in a last one.
func Gaps(gaps []evidence.Gap, line int) []evidence.Gap {
	var out []evidence.Gap
	for i, gap := range gaps {
		if i == Entries(line) {
			return append(out, evidence.Gap{What: Plural(len(gaps)-i, "more place"), Reason: "not listed"})
		}
		half := line/2 - len(":") // what and reason become one line of the coverage
		out = append(out, evidence.Gap{What: evidence.Line(gap.What, half), Reason: evidence.Line(gap.Reason, half)})
	}
	return out
}

// Blank reports whether nothing of text would be left on a line.
func Blank(text string) bool { return evidence.Line(text, utf8.UTFMax) == "" }

// AnyBlank reports whether a list has an entry that says nothing.
func AnyBlank(texts []string) bool { return slices.ContainsFunc(texts, Blank) }

// GapsBlank reports whether a gap has no name or no reason.
func GapsBlank(gaps []evidence.Gap) bool {
	return slices.ContainsFunc(gaps, func(g evidence.Gap) bool { return Blank(g.What) || Blank(g.Reason) })
}

// tooLarge keeps the limit above zero, since zero means "no size" in an error.
func tooLarge(size, limit int) error {
	return &projector.Error{Kind: projector.TooLarge, Field: projector.FieldFacts, Size: int64(size), Limit: int64(max(limit, 1))}
}
