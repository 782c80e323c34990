package projectortest

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"strings"

	"github.com/toolharness/harness/evidence"
)

const (
	cuts     = 48      // places at which a raw result is cut
	variants = 64      // random changes of one
	huge     = 1 << 20 // bytes; more would only be slow under -race
	deep     = 100_000 // levels of nesting
)

// hostile: whatever the raw bytes are, the projector returns, does not panic, and
// what it returns keeps the contract.
func (s *suite) hostile(r reporter) {
	r.Helper()
	for i, c := range s.cases {
		for what, raw := range hostileRaw(c.Raw, i == 0) { // the enormous ones are slow and all alike
			in := c.in()
			in.Raw = raw
			if a := s.call(context.Background(), in); a.fault != "" {
				r.Errorf("%s, %s (%d bytes): the projector %s", c.Name, what, len(raw), a.fault)
				return
			}
		}
	}
}

type family struct {
	what string
	seq  iter.Seq[[]byte]
}

// hostileRaw makes the inputs one by one, so that only one is in memory. They
// are the same on each run.
func hostileRaw(raw []byte, withEnormous bool) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		families := []family{
			{"cut", prefixes(raw)}, {"changed at random", changed(raw)}, {"with bytes that are no UTF-8", inserted(raw, "\xff")},
			{"with control characters", inserted(raw, "\x00\x1b[2J\u202e\u2066\u200b\u2028\r\n")}, {"odd", odd(raw)},
		}
		if withEnormous {
			families = append(families, family{"huge or deep", enormous(raw)})
		}
		for _, family := range families {
			for input := range family.seq {
				if !yield(family.what, bytes.Clone(input)) {
					return
				}
			}
		}
	}
}

// prefixes are proper beginnings of raw, without those that only lack white
// space at the end.
func prefixes(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		trimmed := bytes.TrimRight(raw, " \t\r\n")
		step := max(len(trimmed)/cuts, 1)
		for end := 0; end < len(trimmed); end += step {
			if !yield(trimmed[:end]) {
				return
			}
		}
		if len(trimmed) > 1 {
			yield(trimmed[:len(trimmed)-1])
		}
	}
}

func changed(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		sum := fnv.New64a()
		sum.Write(raw)
		random := rand.New(rand.NewPCG(sum.Sum64(), 1))
		for range variants {
			copied := bytes.Clone(raw)
			for range 1 + random.IntN(4) {
				if len(copied) > 0 {
					copied[random.IntN(len(copied))] = byte(random.Uint32())
				}
			}
			if !yield(copied) {
				return
			}
		}
		noise := make([]byte, 1024)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		yield(noise)
	}
}

func inserted(raw []byte, text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		step := max(len(raw)/8, 1)
		for at := 0; at <= len(raw); at += step {
			if !yield(append(append(bytes.Clone(raw[:at]), text...), raw[at:]...)) {
				return
			}
		}
	}
}

func odd(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, text := range []string{
			"", " ", "\x00", "null", "true", "0", "-", `""`, `"`, "[]", "[[]]", "{}", "[{}]", "[null]", "{", "}", "\ufeff" + string(raw),
			string(raw) + string(raw), string(raw) + "x", `{"a":1,"a":2}`, "1e999999999", `"\ud800"`, "no results found",
		} {
			if !yield([]byte(text)) {
				return
			}
		}
	}
}

func enormous(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, make := range []func() string{
			func() string { return strings.Repeat("[", deep) },
			func() string { return strings.Repeat("[", deep) + strings.Repeat("]", deep) },
			func() string { return strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep) },
			func() string { return `"` + strings.Repeat("x", huge) + `"` },
			func() string { return strings.Repeat("9", huge) },
			func() string { return "[" + strings.Repeat("0,", huge/2) + "0]" },
			func() string { return strings.Repeat("line\n", huge/5) },
			func() string { return strings.Repeat(string(raw), huge/max(len(raw), 1)) },
		} {
			if !yield([]byte(make())) {
				return
			}
		}
	}
}

// absence: what proves nothing is never "nothing found", unless a case says that
// for this very input it is; and an error object is no result at all.
func (s *suite) absence(r reporter) {
	r.Helper()
	for _, c := range s.cases {
		for raw := range prefixes(c.Raw) {
			if !s.provesNothing(r, c, "cut short", raw) {
				return
			}
		}
		for _, text := range []string{"", " ", "null", "no results found", `"no results found"`, "{}", `{"unknown":[]}`} {
			if !s.provesNothing(r, c, "not countable", []byte(text)) {
				return
			}
		}
		if s.speaksJSON() && !s.refusesErrors(r, c) {
			return
		}
	}
}

func (s *suite) provesNothing(r reporter, c Case, what string, raw []byte) bool {
	r.Helper()
	in := c.in()
	in.Raw = bytes.Clone(raw)
	a := s.call(context.Background(), in)
	if a.fault == "" && (a.err != nil || a.projection.Status != evidence.None) || s.wanted(raw, evidence.None) {
		return true
	}
	r.Errorf("%s, %s: %.80q gives %s, want an error", c.Name, what, raw, show(a))
	return false
}

func (s *suite) refusesErrors(r reporter, c Case) bool {
	r.Helper()
	for _, text := range []string{
		`{"error":"connection refused"}`, `{"error":{"code":500,"message":"x"}}`, `{"status":"error","message":"x"}`,
		`{"success":false,"error":"timeout"}`,
	} {
		in := c.in()
		in.Raw = []byte(text)
		a := s.call(context.Background(), in)
		if a.err == nil && !s.wanted([]byte(text), a.projection.Status) {
			r.Errorf("%s: the error object %s gives %s, want an error", c.Name, text, show(a))
			return false
		}
	}
	return true
}

// wanted reports whether some case asks for status for exactly this input.
func (s *suite) wanted(raw []byte, status evidence.Status) bool {
	for _, c := range s.cases {
		if c.Want == status && bytes.Equal(c.Raw, raw) {
			return true
		}
	}
	return false
}

// speaksJSON reports whether raw data is a JSON object in some case. Where it is
// plain text, an error object may be a line of it like any other.
func (s *suite) speaksJSON() bool {
	for _, c := range s.cases {
		if raw := bytes.TrimSpace(c.Raw); c.Want != evidence.Failed && len(raw) > 0 && raw[0] == '{' && json.Valid(raw) {
			return true
		}
	}
	return false
}
