package retrieval

import (
	"context"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
)

// The names of the two tools that a model may be given. Calls of tools with these
// names are records like any other, which is what makes them unrepeatable, but no
// evidence: this package neither lists nor finds nor reads them.
const (
	ToolRead = "evidence_read"
	ToolList = "evidence_list"
)

// Reserved reports whether no other tool may have this name.
func Reserved(tool string) bool { return tool == ToolRead || tool == ToolList }

// GetReference is the reference of what a call returned. A call whose result is
// not kept is [ErrNoResult]. Its strength is what the store can still prove, which
// may be less than a reference said that was given out earlier; that one keeps its
// own.
func (r *Reader) GetReference(ctx context.Context, run canonical.RunID, call canonical.CallName) (evidence.Reference, error) {
	const op = "reference"
	head, err := r.head(ctx, op, run, call)
	if err != nil {
		return evidence.Reference{}, err
	}
	ref, ok := head.Reference()
	if !ok {
		return evidence.Reference{}, fail(op, "", ErrNoResult)
	}
	return ref, nil
}

// head reads the small part of one record that may be told of.
func (r *Reader) head(ctx context.Context, op string, run canonical.RunID, call canonical.CallName) (canonical.Head, error) {
	heads, err := r.store.Heads(ctx, r.key(run), []canonical.CallName{call})
	if err != nil {
		return canonical.Head{}, of(op, err)
	}
	head := heads[0]
	switch {
	case head.Fault != nil:
		return canonical.Head{}, of(op, head.Fault)
	case !head.Exists() || Reserved(head.Tool):
		return canonical.Head{}, fail(op, "", ErrMissing)
	}
	return head, nil
}

// referred reads the head that a reference names, and compares the two.
func (r *Reader) referred(ctx context.Context, op string, ref evidence.Reference) (canonical.Head, error) {
	if err := checkReference(op, ref); err != nil {
		return canonical.Head{}, err
	}
	call := canonical.CallName{Turn: canonical.Turn(ref.Turn), ID: canonical.ToolCallID(ref.ToolCallID)}
	head, err := r.head(ctx, op, canonical.RunID(ref.RunID), call)
	if err != nil {
		return canonical.Head{}, err
	}
	return head, fits(op, ref, head)
}

// fits compares a reference with the record that it names. Strength is left out:
// it says what was known when the reference was made, and a later reader neither
// raises nor lowers it.
func fits(op string, ref evidence.Reference, head canonical.Head) error {
	if ref.EvidenceID != string(head.EvidenceID) {
		return fail(op, "reference.evidence_id", ErrReference)
	}
	has, ok := head.Reference()
	switch {
	case !ok:
		return fail(op, "", ErrNoResult)
	case ref.Bytes != has.Bytes:
		return fail(op, "reference.bytes", ErrReference)
	case ref.SHA256 != has.SHA256:
		return fail(op, "reference.sha256", ErrReference)
	case ref.Pieces != has.Pieces:
		return fail(op, "reference.pieces", ErrReference)
	}
	return nil
}

// checkReference refuses what no store could have given, before anything is sent.
func checkReference(op string, ref evidence.Reference) error {
	if ref.Version != evidence.ReferenceVersion {
		return &Error{Op: op, Field: "reference.version", Err: ErrVersion, Got: int64(ref.Version), Limit: evidence.ReferenceVersion}
	}
	for _, f := range []struct {
		name string
		bad  bool
	}{
		{"reference.run_id", failed(canonical.ParseRunID(ref.RunID))},
		{"reference.turn", failed(canonical.ParseTurn(ref.Turn))},
		{"reference.tool_call_id", failed(canonical.ParseToolCallID(ref.ToolCallID))},
		{"reference.evidence_id", canonical.CheckEvidenceID(op, canonical.EvidenceID(ref.EvidenceID)) != nil},
		{"reference.sha256", !isDigest(ref.SHA256)},
		{"reference.pieces", ref.Pieces != "" && !isDigest(ref.Pieces)},
		{"reference.bytes", ref.Bytes < 0},
	} {
		if f.bad {
			return fail(op, f.name, ErrArgument)
		}
	}
	return nil
}

func failed[T any](_ T, err error) bool { return err != nil }

// isDigest reports whether text is a SHA-256 as this module writes it: 64
// hexadecimal digits, small letters.
func isDigest(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}
