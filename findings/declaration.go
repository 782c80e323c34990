package findings

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
)

// Declaration is what a model wrote in the reserved argument. The zero value
// says nothing and cites nothing.
//
//	{"basis":"direct","expect":"high","proposition":"...","predicts":"...",
//	 "previous":[{"toolCallId":"call_1","standing":"fact","line":"...",
//	              "assertions":[{"subject":{"kind":"host","id":"db1"},"predicate":"state","value":"up"}]}]}
//
// null is the same as absent, since providers with strict schemas write it for
// members that are optional.
type Declaration struct {
	Basis       Basis
	Expect      Expect
	Proposition string // what the call is to test, at most MaxLine code points
	Predicts    string // what the result should show if it holds, likewise
	Previous    []Citation

	// Dropped counts parts that are not as declared and cite nothing: a word that
	// is not in its list, a text that is none, a member of another name. They are
	// left out and never replaced by a default (F38).
	Dropped int

	// Frame is there when something that may have been meant as a citation could
	// not be read. Then the proposal is refused (F18).
	Frame *Frame
}

// Citation names one earlier result.
type Citation struct {
	ID         string // exactly as written; never resolved by position or tool name (F40)
	Standing   Standing
	Line       string          // the model's words, at most MaxLine code points
	Assertions []evidence.Fact // the model's, each bounded as a fact is; at most MaxAssertions
	Cut        int             // assertions over the bound
}

// Frame is reserved metadata that could not be read, for diagnosis.
type Frame struct {
	Text       string `json:"text"`       // at most MaxFrame code points; ends in evidence.ClipMark when cut
	Characters int    `json:"characters"` // code points of the whole
	Truncated  bool   `json:"truncated"`
}

// Cites reports whether the declaration has a citation or a failed attempt at one.
func (d Declaration) Cites() bool { return len(d.Previous) > 0 || d.Frame != nil }

// said reports whether there is anything to file about the proposal itself.
func (d Declaration) said() bool {
	return d.Basis != "" || d.Expect != "" || d.Proposition != "" || d.Predicts != "" || d.Dropped > 0
}

func newFrame(text string) *Frame {
	text = strings.ToValidUTF8(text, "\uFFFD")
	cut, n := clip(text, MaxFrame)
	return &Frame{Text: cut, Characters: n, Truncated: n > MaxFrame}
}

// clip cuts text to most code points, the mark counted, and gives the number of
// code points of the whole.
func clip(text string, most int) (string, int) {
	n, at := 0, len(text)
	for i := range text {
		if n == most-1 {
			at = i
		}
		n++
	}
	if n <= most {
		return text, n
	}
	return text[:at] + evidence.ClipMark, n
}

// readDeclaration reads one value of the reserved member. It never fails: what
// cannot be read becomes the frame. value must be valid JSON.
func readDeclaration(value jsontext.Value) Declaration {
	var d Declaration
	switch value.Kind() {
	case 'n':
		return d
	case '{':
	default:
		d.Frame = newFrame(string(value))
		return d
	}
	all, readable := members(value)
	for name, v := range all {
		switch name {
		case "basis":
			word(&d, v, &d.Basis)
		case "expect":
			word(&d, v, &d.Expect)
		case "proposition":
			text(&d.Dropped, v, &d.Proposition)
		case "predicts":
			text(&d.Dropped, v, &d.Predicts)
		case "previous":
			readable = d.readPrevious(v) && readable
		default:
			d.Dropped++
			readable = readable && !alike(name, "previous")
		}
	}
	if !readable {
		d.Frame = newFrame(string(value))
	}
	return d
}

// readPrevious reports whether the list and each of its entries could be read.
func (d *Declaration) readPrevious(list jsontext.Value) bool {
	if list.Kind() == 'n' {
		return true
	}
	var entries []jsontext.Value
	if list.Kind() != '[' || json.Unmarshal(list, &entries) != nil || len(entries) > MaxCitations {
		return false
	}
	whole := true
	for _, entry := range entries {
		c, ok := d.readCitation(entry)
		if ok {
			d.Previous = append(d.Previous, c)
		}
		whole = whole && ok
	}
	return whole
}

func (d *Declaration) readCitation(entry jsontext.Value) (Citation, bool) {
	var c Citation
	all, readable := members(entry)
	for name, v := range all {
		switch name {
		case "toolCallId":
			if v.Kind() == '"' {
				c.ID = unquoted(v)
			}
		case "standing":
			word(d, v, &c.Standing)
		case "line":
			text(&d.Dropped, v, &c.Line)
		case "assertions":
			d.readAssertions(v, &c)
		default:
			d.Dropped++
			readable = readable && !alike(name, "toolCallId")
		}
	}
	return c, readable && c.ID != ""
}

func (d *Declaration) readAssertions(list jsontext.Value, c *Citation) {
	if list.Kind() == 'n' {
		return
	}
	var entries []jsontext.Value
	if json.Unmarshal(list, &entries) != nil {
		d.Dropped++
		return
	}
	for _, entry := range entries {
		var written evidence.Fact
		if json.Unmarshal(entry, &written) != nil {
			d.Dropped++
			continue
		}
		fact := evidence.NewFact(written.Subject, written.Predicate, written.Value)
		switch {
		case fact.Validate() != nil:
			d.Dropped++
		case len(c.Assertions) == MaxAssertions:
			c.Cut++
		default:
			c.Assertions = append(c.Assertions, fact)
		}
	}
}

// word reads one of a closed list of words.
func word[W interface {
	~string
	Valid() bool
}](d *Declaration, v jsontext.Value, to *W) {
	switch {
	case v.Kind() == 'n':
	case v.Kind() == '"' && W(unquoted(v)).Valid():
		*to = W(unquoted(v))
	default:
		d.Dropped++
	}
}

// text reads one line of the model's words.
func text(dropped *int, v jsontext.Value, to *string) {
	switch v.Kind() {
	case 'n':
	case '"':
		*to = line(unquoted(v))
	default:
		*dropped++
	}
}

// line makes one safe line of at most MaxLine code points. A code point has four
// bytes at most, so the first bound never cuts what the second would keep.
func line(text string) string {
	cut, _ := clip(evidence.Line(text, 4*MaxLine+len(evidence.ClipMark)), MaxLine)
	return cut
}

// alike reports whether a name differs from one of ours only in case and
// separators. It would be a citation that nobody looks at, so it is malformed.
func alike(name, ours string) bool { return folded(name) == folded(ours) }

func folded(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == ' ' || r == '.':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + ('a' - 'A')
		}
		return r
	}, name)
}

// members takes an object apart by one level, names decoded; false for what is no
// object.
func members(object jsontext.Value) (map[string]jsontext.Value, bool) {
	var all map[string]jsontext.Value
	if object.Kind() != '{' || json.Unmarshal(object, &all) != nil {
		return nil, false
	}
	return all, true
}

func unquoted(v jsontext.Value) string {
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(text)
}
