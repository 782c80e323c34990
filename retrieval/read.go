package retrieval

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/redact"
)

// Part says which part of a view is wanted.
type Part struct {
	// Offset counts bytes of the view, from 0. It must lie before a character or
	// at the end: take it from Chunk.Next.
	Offset int64

	// Max is how many bytes of text are wanted at most, 1 to Config.ChunkBytes;
	// zero means that limit. A chunk has at least one character even so, unless
	// Offset is the end.
	Max int

	// View is Chunk.ViewSHA256 of an earlier chunk, or its first 16 digits or
	// more. Where it is given, text of another view is never served:
	// ErrViewChanged. Empty: not compared, which is right for a first chunk alone.
	View string
}

// LastChunk is Chunk.Next of the chunk that reaches the end.
const LastChunk = -1

// Chunk is a part of the redacted view of a raw result. All chunks of a view, put
// together in order, are the view, whatever their sizes.
type Chunk struct {
	Text       string
	Next       int64  // the offset behind Text; LastChunk when nothing is left
	ViewSHA256 string // of the whole view, lower-case hex; the raw result has another
	ViewBytes  int64  // of the whole view
}

// Read gives a part of the redacted view of what a call returned. The whole raw
// result is verified before a byte of it is served; a view that is kept in memory
// was verified when it was made, and its record is asked for again.
//
// Bytes that are not UTF-8 are shown as U+FFFD, one for each run of them, and that
// is done before redaction, so that the rules see what a reader sees. Open has
// the bytes themselves.
func (r *Reader) Read(ctx context.Context, ref evidence.Reference, part Part) (Chunk, error) {
	const op = "read"
	if err := r.checkPart(op, &part); err != nil {
		return Chunk{}, err
	}
	give, err := r.take(op)
	if err != nil {
		return Chunk{}, err
	}
	defer give()
	head, err := r.referred(ctx, op, ref)
	if err != nil {
		return Chunk{}, err
	}
	v, err := r.view(ctx, op, head)
	if err != nil {
		return Chunk{}, err
	}
	if !strings.HasPrefix(v.sha256, part.View) {
		return Chunk{}, fail(op, "view", ErrViewChanged)
	}
	return v.chunk(op, part)
}

// minViewDigits is how many digits of a view's digest may stand for it.
const minViewDigits = 16

func (r *Reader) checkPart(op string, p *Part) error {
	if p.Max == 0 {
		p.Max = r.chunk
	}
	switch {
	case p.Offset < 0:
		return fail(op, "offset", ErrArgument)
	case p.Max < 1 || p.Max > r.chunk:
		return outside(op, "max", int64(p.Max), int64(r.chunk))
	case p.View == "":
		return nil
	case len(p.View) < minViewDigits || len(p.View) > 64 || strings.Trim(p.View, "0123456789abcdef") != "":
		return fail(op, "view", ErrArgument)
	}
	return nil
}

// view is the redacted view of a record's raw result, kept or made.
func (r *Reader) view(ctx context.Context, op string, head canonical.Head) (*view, error) {
	key := viewKey{identity: head.Identity, raw: head.Raw.SHA256, fingerprint: r.redactor.Fingerprint()}
	if v := r.views.get(key); v != nil {
		return v, nil
	}
	raw, err := r.raw(ctx, op, head)
	if err != nil {
		return nil, err
	}
	made, err := r.redactor.Redact(ctx, redact.Result, bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	if err != nil {
		return nil, &Error{Op: op, Err: ErrWithheld, cause: err}
	}
	if !utf8.Valid(made.Text) { // no rule may cut a character
		return nil, fail(op, "", ErrWithheld)
	}
	v := &view{key: key, text: string(made.Text), sha256: canonical.Body(made.Text).SHA256()}
	r.views.put(v)
	return v, nil
}

// chunk cuts a part out. Text shares no memory with the view, so that a kept chunk
// does not hold the whole.
func (v *view) chunk(op string, p Part) (Chunk, error) {
	size := int64(len(v.text))
	if p.Offset > size {
		return Chunk{}, outside(op, "offset", p.Offset, size)
	}
	rest := v.text[p.Offset:]
	if rest != "" && !utf8.RuneStart(rest[0]) {
		return Chunk{}, &Error{Op: op, Field: "offset", Err: ErrArgument, Got: p.Offset, Limit: size}
	}
	n := min(p.Max, len(rest))
	for n < len(rest) && n > 0 && !utf8.RuneStart(rest[n]) {
		n--
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(rest)
	}
	c := Chunk{Text: strings.Clone(rest[:n]), Next: p.Offset + int64(n), ViewSHA256: v.sha256, ViewBytes: size}
	if c.Next == size {
		c.Next = LastChunk
	}
	return c, nil
}

// raw reads the whole raw result and verifies it: pieces by their digests, the
// whole by the digest that the head has.
func (r *Reader) raw(ctx context.Context, op string, head canonical.Head) (canonical.Body, error) {
	if !head.Raw.Stored {
		return nil, fail(op, "", ErrNoResult)
	}
	if head.Raw.Size > r.rawBytes {
		return nil, &Error{Op: op, Err: ErrTooLarge, Got: head.Raw.Size, Limit: r.rawBytes}
	}
	part, err := r.store.RawPart(ctx, head.Identity.RunKey, head.Identity.Call, 0, int(max(head.Raw.Size, 1)))
	if err != nil {
		return nil, of(op, err)
	}
	if part.Raw != head.Raw || int64(len(part.Bytes)) != head.Raw.Size || part.Bytes.SHA256() != head.Raw.SHA256 {
		return nil, fail(op, "", ErrCorrupt)
	}
	return part.Bytes, nil
}
