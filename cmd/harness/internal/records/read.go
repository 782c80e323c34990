package records

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/retrieval"
)

// Part says which part of a result is wanted: of its view, or with Ask.Raw of its bytes.
type Part struct {
	Offset int64
	Bytes  int64  // at most so many, to retrieval.MaxChunk; zero: all that there are
	View   string // digest of the view that an earlier part was of; empty: not compared
}

// Read is a part of a result, or the whole of it.
type Read struct {
	Scope  canonical.Scope      `json:"scope"`
	Run    canonical.RunID      `json:"run_id"`
	Name   string               `json:"call"`
	Turn   canonical.Turn       `json:"turn,omitempty"`
	ID     canonical.ToolCallID `json:"tool_call_id"`
	Offset int64                `json:"offset"`
	Next   int64                `json:"next,omitempty"` // the offset behind this part; none when nothing is left

	// Of a view.
	ViewSHA256 string `json:"view_sha256,omitempty"`
	ViewBytes  *int64 `json:"view_bytes,omitempty"`

	// Of the raw bytes.
	RawSHA256 string `json:"raw_sha256,omitempty"`
	RawBytes  *int64 `json:"raw_bytes,omitempty"`

	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"` // of raw bytes that are not UTF-8
}

// Content is the bytes that were read.
func (d Read) Content() []byte {
	if d.Text != nil {
		return []byte(*d.Text)
	}
	return d.Base64
}

// Read gives the redacted view of a call's result or a part of it. The whole raw result was verified before.
func (r *Reader) Read(ctx context.Context, ask Ask, part Part) (Read, error) {
	ref, made, err := r.refer(ctx, ask, part)
	if err != nil {
		return Read{}, err
	}
	if ask.Raw {
		return r.raw(ctx, ref, part, made)
	}
	var all strings.Builder
	at, view := part.Offset, part.View
	for {
		chunk, err := r.reader.Read(ctx, ref, retrieval.Part{Offset: at, Max: int(part.Bytes), View: view})
		if err != nil {
			return Read{}, r.told(err, "call")
		}
		all.WriteString(chunk.Text)
		at, view = chunk.Next, chunk.ViewSHA256
		made.ViewSHA256, made.ViewBytes = chunk.ViewSHA256, &chunk.ViewBytes
		if at == retrieval.LastChunk || part.Bytes != 0 {
			break
		}
	}
	if at != retrieval.LastChunk {
		made.Next = at
	}
	text := all.String()
	made.Text = &text
	return made, nil
}

// refer names the result and begins the document.
func (r *Reader) refer(ctx context.Context, ask Ask, part Part) (evidence.Reference, Read, error) {
	if part.Bytes < 0 || part.Bytes > retrieval.MaxChunk {
		return evidence.Reference{}, Read{}, r.told(outside("bytes", part.Bytes, retrieval.MaxChunk), "call")
	}
	run, call, err := r.resolve(ctx, ask)
	if err != nil {
		return evidence.Reference{}, Read{}, err
	}
	ref, err := r.reader.GetReference(ctx, run, call)
	if err != nil {
		return evidence.Reference{}, Read{}, r.told(err, "call")
	}
	return ref, Read{Scope: r.scope, Run: run, Name: NameOf(call), Turn: call.Turn, ID: call.ID, Offset: part.Offset}, nil
}

func (r *Reader) raw(ctx context.Context, ref evidence.Reference, part Part, made Read) (Read, error) {
	raw, err := r.reader.Open(ctx, ref)
	if err != nil {
		return Read{}, r.told(err, "call")
	}
	size := int64(len(raw))
	if part.Offset < 0 || part.Offset > size {
		return Read{}, r.told(outside("offset", part.Offset, size), "call")
	}
	end := size
	if part.Bytes > 0 {
		end = min(size, part.Offset+min(part.Bytes, size))
	}
	if made.RawSHA256, made.RawBytes = ref.SHA256, &size; end < size {
		made.Next = end
	}
	wanted := raw[part.Offset:end]
	if utf8.Valid(wanted) {
		text := string(wanted)
		made.Text = &text
	} else {
		made.Base64 = wanted
	}
	return made, nil
}

func outside(field string, got, limit int64) error {
	return &retrieval.Error{Op: "read", Field: field, Err: retrieval.ErrArgument, Got: got, Limit: limit}
}
