package redact

import (
	"bytes"
	"fmt"
	"strings"
)

// maxPasses bounds how often a text is read until nothing more is found. What is
// found changes what stands beside it, so a second reading is due after any
// change; a third is rare.
const maxPasses = 8

// pass is one reading of a value by the built-in rules.
type pass struct {
	keys   Keys
	rules  []Finder
	limits Limits
}

// settled redacts until reading again finds nothing. The result is therefore
// the same when it is redacted again.
func (p *pass) settled(text []byte) (out []byte, replaced int, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, replaced, err = nil, 0, &Error{Err: ErrRules, Detail: fmt.Sprintf("panic of type %T", v)}
		}
	}()
	for range maxPasses {
		edits, err := p.document(text, "", 0)
		if err != nil {
			return nil, 0, err
		}
		if len(edits) == 0 {
			return text, replaced, nil
		}
		if replaced += len(edits); replaced > p.limits.Replacements {
			return nil, 0, &Error{Err: ErrTooMany, Limit: int64(p.limits.Replacements)}
		}
		if text = apply(text, edits); len(text) > p.limits.Bytes {
			return nil, 0, &Error{Err: ErrTooLarge, Got: int64(len(text)), Limit: int64(p.limits.Bytes)}
		}
	}
	return nil, 0, &Error{Err: ErrUnstable, Limit: maxPasses}
}

// document finds what is to be replaced in JSON, in lines of which some are
// JSON, or in text. name is that of the member whose value the text is.
func (p *pass) document(text []byte, name string, level int) ([]edit, error) {
	edits, err := p.anything(text, name, level)
	if err != nil {
		return nil, err
	}
	return merged(text, edits), nil
}

func (p *pass) anything(text []byte, name string, level int) ([]edit, error) {
	mark := 0
	if bytes.HasPrefix(text, byteOrderMark) {
		mark = len(byteOrderMark)
	}
	if level == 0 || mayHoldJSON(text[mark:]) {
		edits, is, err := p.asJSON(text[mark:], level)
		if is || err != nil {
			return moved(edits, mark), err
		}
	}
	return p.lines(text, name, level)
}

// mayHoldJSON is the cheap question for lines and for strings inside JSON: a
// string "12" is text, one with an object, an array or a string in it may be a
// document.
func mayHoldJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || strings.IndexByte(`{["-0123456789tfn`, text[0]) < 0 {
		return false
	}
	return text[0] == '"' || bytes.ContainsAny(text, "{[")
}

func (p *pass) asJSON(text []byte, level int) (edits []edit, is bool, err error) {
	if is, err = p.isJSON(text); !is || err != nil {
		return nil, is, err
	}
	if level > maxEmbedding {
		return nil, true, &Error{Err: ErrTooDeep, Detail: "JSON in strings of JSON", Limit: maxEmbedding}
	}
	edits, err = p.json(text, level)
	return edits, true, err
}

// lines reads each line that is a JSON document as one, and what is between
// them as text. So neither a cut first line nor a note between records hides the
// rest of a log.
func (p *pass) lines(text []byte, name string, level int) ([]edit, error) {
	var out []edit
	from := 0 // of the text that was not looked at
	for start := 0; start < len(text); {
		end := len(text)
		if n := bytes.IndexByte(text[start:], '\n'); n >= 0 {
			end = start + n + 1
		}
		if line := text[start:end]; len(line) < len(text) && mayHoldJSON(line) {
			edits, is, err := p.asJSON(line, level)
			if err != nil {
				return nil, err
			}
			if is {
				found, err := p.find(text[from:start], name)
				if err != nil {
					return nil, err
				}
				out = append(append(out, moved(found, from)...), moved(edits, start)...)
				from = end
			}
		}
		start = end
	}
	found, err := p.find(text[from:], name)
	return append(out, moved(found, from)...), err
}

func moved(edits []edit, by int) []edit {
	for i := range edits {
		edits[i].start += by
		edits[i].end += by
	}
	return edits
}

// find asks the rules. A value is shown to them behind its name, as they would
// meet it in a file; what they find of the name is not ours to replace here.
func (p *pass) find(text []byte, name string) ([]edit, error) {
	if len(text) == 0 {
		return nil, nil
	}
	before, shown := 0, string(text)
	if name != "" {
		before, shown = len(name)+2, name+`="`+shown+`"`
	}
	var out []edit
	for _, f := range p.rules {
		for _, s := range f.Find(shown) {
			if s.Start < 0 || s.End > len(shown) || s.Start > s.End {
				return nil, &Error{Err: ErrRules, Detail: "a finding outside the text"}
			}
			start, end := max(s.Start-before, 0), min(s.End-before, len(text))
			if start < end {
				out = append(out, edit{start, end, Replacement})
			}
		}
	}
	if len(out) > p.limits.Replacements {
		return nil, &Error{Err: ErrTooMany, Limit: int64(p.limits.Replacements)}
	}
	return out, nil
}
