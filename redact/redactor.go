package redact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// Replacement stands where a credential stood: in text as it is, under a
// credential's name as a JSON string whatever the value was.
const Replacement = "[REDACTED]"

// formVersion goes into every fingerprint. It changes when the same
// configuration gives another view than before.
const formVersion = "redact/1"

// Kind says what a value is, for a policy that treats them differently.
type Kind uint8

// The kinds of values.
const (
	Arguments Kind = iota + 1 // what a tool was called with
	Result                    // what it returned
	Message                   // an error, a log line, other prose
)

// String is the kind's word: arguments, result or message.
func (k Kind) String() string {
	switch k {
	case Arguments:
		return "arguments"
	case Result:
		return "result"
	case Message:
		return "message"
	}
	return "unknown"
}

// Span is the part of a text from byte Start up to, not including, byte End.
type Span struct{ Start, End int }

// Finder finds credentials in text that is not JSON, and in the strings of JSON.
// It says where they are and never what to put there. It must be pure and safe
// for concurrent use; spans may come in any order and overlap. A panic withholds
// the value.
type Finder interface {
	// Name tells rules and their version apart. It is part of the fingerprint.
	Name() string
	Find(text string) []Span
}

// Limits bound the work on one value. What is above is withheld, never cut. Zero
// fields are the defaults.
type Limits struct {
	Bytes        int           // of the value, of what a policy makes of it, and of the view; 8 MiB
	Depth        int           // of arrays and objects; 1000, 9999 at most
	Replacements int           // 65536
	Policy       time.Duration // for one call of the policy; 2 s
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 8 << 20
	}
	if l.Depth == 0 {
		l.Depth = 1000
	}
	if l.Replacements == 0 {
		l.Replacements = 1 << 16
	}
	if l.Policy == 0 {
		l.Policy = 2 * time.Second
	}
	return l
}

// maxDepth is what the JSON reader itself can follow.
const maxDepth = 9999

func (l Limits) check() error {
	for _, f := range []struct {
		name       string
		got, limit int64
	}{
		{"Limits.Bytes", int64(l.Bytes), 1 << 40},
		{"Limits.Depth", int64(l.Depth), maxDepth},
		{"Limits.Replacements", int64(l.Replacements), 1 << 40},
		{"Limits.Policy", int64(l.Policy), int64(time.Hour)},
	} {
		if f.got < 0 || f.got > f.limit {
			return &Error{Err: ErrConfig, Detail: fmt.Sprintf("%s is %d", f.name, f.got), Limit: f.limit}
		}
	}
	return nil
}

// Config is what a host decides. The zero value redacts by names alone.
type Config struct {
	Keys   Keys     // a host's own names beside the built-in ones
	Rules  []Finder // for text: see packages redact/text and redact/rules
	Policy Policy   // nil: none
	Limits Limits
}

// Redactor makes redacted views. It is safe for concurrent use.
type Redactor struct {
	pass        pass
	policy      Policy
	fingerprint string
	abandoned   atomic.Int64 // calls of the policy that went on after their deadline
}

// New refuses limits that make no sense, keys that fold to nothing, rules and
// policies without a name.
func New(c Config) (*Redactor, error) {
	r := &Redactor{pass: pass{
		keys:   Keys{Exact: slices.Clone(c.Keys.Exact), Endings: slices.Clone(c.Keys.Endings)},
		rules:  slices.Clone(c.Rules),
		limits: c.Limits.withDefaults(),
	}, policy: c.Policy}
	if err := r.pass.limits.check(); err != nil {
		return nil, err
	}
	for _, key := range slices.Concat(c.Keys.Exact, c.Keys.Endings) {
		if fold(key) == "" {
			return nil, &Error{Err: ErrConfig, Detail: "Keys has a name of separators alone"}
		}
	}
	for i, f := range c.Rules {
		if f == nil || f.Name() == "" {
			return nil, &Error{Err: ErrConfig, Detail: fmt.Sprintf("Rules[%d] has no name", i)}
		}
	}
	if c.Policy != nil && c.Policy.Version() == "" {
		return nil, &Error{Err: ErrConfig, Detail: "Policy has no version"}
	}
	r.fingerprint = r.pass.fingerprint(c.Policy)
	return r, nil
}

// Fingerprint names what the views are made by: 64 hexadecimal digits, equal as
// long as names, rules, policy version and limits are. A reader that goes on with
// an older view compares it, and can tell that the view changed.
func (r *Redactor) Fingerprint() string { return r.fingerprint }

func (p *pass) fingerprint(policy Policy) string {
	h := sha256.New()
	list := func(items ...string) {
		_ = binary.Write(h, binary.BigEndian, int64(len(items))) // a hash never fails
		for _, s := range items {
			_ = binary.Write(h, binary.BigEndian, int64(len(s)))
			_, _ = io.WriteString(h, s)
		}
	}
	list(formVersion, Replacement)
	list(exactKeys[:]...)
	list(endings[:]...)
	list(slices.Sorted(slices.Values(p.keys.Exact))...)
	list(slices.Sorted(slices.Values(p.keys.Endings))...)
	for _, f := range p.rules {
		list(f.Name())
	}
	if policy != nil {
		list("policy", policy.Version())
	}
	_ = binary.Write(h, binary.BigEndian, []int64{int64(p.limits.Bytes), int64(p.limits.Depth), int64(p.limits.Replacements)})
	return hex.EncodeToString(h.Sum(nil))
}

// View is a redacted copy. It shares no memory with the value it was made of.
type View struct {
	Text     []byte
	Replaced int // by names and rules; what a policy replaced is its own
}

// Redact returns the view of a value: JSON, several JSON values, lines, or text.
// Names and rules first, then the policy, then names and rules again. The same
// bytes give the same view every time, as far as the policy does. The context is
// for the policy alone.
//
// With an error, always an [*Error], there is no view: the value is withheld whole.
func (r *Redactor) Redact(ctx context.Context, kind Kind, value []byte) (View, error) {
	if limit := r.pass.limits.Bytes; len(value) > limit {
		return View{}, &Error{Err: ErrTooLarge, Got: int64(len(value)), Limit: int64(limit)}
	}
	text, replaced, err := r.pass.settled(bytes.Clone(value))
	if err != nil || r.policy == nil {
		return View{text, replaced}, err
	}
	text, err = r.apply(ctx, kind, text)
	if err != nil {
		return View{}, err
	}
	text, again, err := r.pass.settled(text)
	if replaced += again; replaced > r.pass.limits.Replacements {
		err = &Error{Err: ErrTooMany, Limit: int64(r.pass.limits.Replacements)}
	}
	if err != nil {
		return View{}, err
	}
	return View{text, replaced}, nil
}

// Value is Redact for a Go value: it is written as JSON first, under the same
// limits, map members sorted. What has no JSON form (a cycle, NaN, a function,
// a channel, text that is not UTF-8) is ErrNotJSON. The value is only read.
func (r *Redactor) Value(ctx context.Context, kind Kind, value any) (View, error) {
	text, err := r.marshal(value)
	if err != nil {
		return View{}, err
	}
	return r.Redact(ctx, kind, text)
}

func (r *Redactor) marshal(value any) (text []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			text, err = nil, &Error{Err: ErrNotJSON, Detail: fmt.Sprintf("panic of type %T", v)}
		}
	}()
	w := bounded{limit: r.pass.limits.Bytes}
	if err := json.MarshalWrite(&w, value, json.Deterministic(true)); err != nil {
		if w.over {
			return nil, &Error{Err: ErrTooLarge, Limit: int64(w.limit)}
		}
		return nil, &Error{Err: ErrNotJSON, cause: err}
	}
	return w.text, nil
}

// bounded refuses what does not fit, which ends the writing of a huge value early.
type bounded struct {
	text  []byte
	limit int
	over  bool
}

// Write takes all of b or nothing.
func (w *bounded) Write(b []byte) (int, error) {
	if len(w.text)+len(b) > w.limit {
		w.over = true
		return 0, io.ErrShortWrite
	}
	w.text = append(w.text, b...)
	return len(b), nil
}
