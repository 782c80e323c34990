package canonical

import (
	"crypto/sha256"
	"fmt"
)

// Body is bytes of a call: a request, a raw result, an agent result. It is a
// []byte in every way but one: it prints, in every fmt verb, as text and in JSON,
// as its size. A struct that holds one in an unexported field needs a Format of
// its own, since fmt asks nothing there.
type Body []byte

// Format prints the size for every verb.
func (b Body) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%d bytes", len(b)) }

// MarshalJSON writes the size as a string.
func (b Body) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%d bytes"`, len(b)), nil }

// MarshalText writes the size. Loggers print a slice of bytes as text unless it
// says otherwise (slog's TextHandler does, by reflection).
func (b Body) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d bytes", len(b)), nil }

// SHA256 is the digest of b in lower-case hex.
func (b Body) SHA256() string { return sumText(sha256.Sum256(b)) }

// Clone returns a copy that shares no memory with b; nil stays nil.
func (b Body) Clone() Body {
	if b == nil {
		return nil
	}
	return append(Body{}, b...)
}

// Raw is a tool's whole result, or why it is absent. Size and digest are kept
// even where the bytes are not.
type Raw struct {
	Bytes   Body   // nil when absent; empty and not nil for an empty result
	Size    int64  // bytes; a lower bound when AtLeast
	SHA256  string // of the bytes seen, lower-case hex
	AtLeast bool   // the tool was stopped at the limit; the whole is larger
}

// NewRaw describes a whole result. It keeps b without copying.
func NewRaw(b []byte) Raw {
	if b == nil {
		b = []byte{}
	}
	return Raw{Bytes: b, Size: int64(len(b)), SHA256: Body(b).SHA256()}
}

// Present reports whether the bytes are there.
func (r Raw) Present() bool { return r.Bytes != nil }
