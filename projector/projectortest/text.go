package projectortest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode"
)

// text: no answer that was seen so far holds a character that acts on whoever
// prints it. Line feeds and tabs are allowed outside JSON strings; inside, JSON
// escapes them.
func (s *suite) text(r reporter) {
	r.Helper()
	// The other checks may have been filtered out by -run.
	for _, c := range s.cases {
		for raw := range inserted(c.Raw, `\u0007\u202e`) {
			in := c.in()
			in.Raw = raw
			s.call(context.Background(), in)
		}
	}
	if s.acting != nil {
		i := bytes.IndexFunc(s.acting, acts)
		r.Errorf("a result holds the character %+q at byte %d: %.300q", firstRune(s.acting[i:]), i, s.acting)
	}
}

func acts(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

func firstRune(b []byte) rune { return []rune(string(b))[0] }

// longNumber is how many digits a float64 cannot promise to keep.
const longNumber = 16

// digits: a long number in a result or a fact is one that the raw data or the
// request has, digit for digit.
func (s *suite) digits(r reporter) {
	r.Helper()
	for _, c := range s.cases {
		a := s.call(context.Background(), c.in())
		if a.err != nil || a.fault != "" {
			continue // the verdict check tells
		}
		numbers := numbersIn(a.projection.Result)
		for _, fact := range a.projection.Facts {
			numbers = append(numbers, numbersIn([]byte(fact.Value))...)
		}
		for _, number := range numbers {
			if significant(number) >= longNumber && !bytes.Contains(c.Raw, []byte(number)) && !bytes.Contains(c.Request, []byte(number)) {
				r.Errorf("%s: the number %s does not stand in the raw data; digits were lost", c.Name, number)
				return
			}
		}
	}
}

// numbersIn lists the number literals of a JSON document outside its strings;
// none where it is no JSON.
func numbersIn(document []byte) []string {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var numbers []string
	for {
		token, err := dec.Token()
		if err != nil {
			return numbers
		}
		if number, ok := token.(json.Number); ok {
			numbers = append(numbers, number.String())
		}
	}
}

// significant counts the digits of a literal before its exponent.
func significant(number string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	return len(strings.TrimLeft(strings.NewReplacer(".", "", "-", "").Replace(mantissa), "0"))
}
