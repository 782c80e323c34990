package canonical_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

func TestBody_clone_shares_nothing(t *testing.T) {
	t.Parallel()
	b := canonical.Body("abc")
	c := b.Clone()
	c[0] = 'x'
	if string(b) != "abc" || canonical.Body(nil).Clone() != nil {
		t.Errorf("%q after a change of its clone; clone of nil %v", string(b), canonical.Body(nil).Clone())
	}
	if empty := (canonical.Body{}).Clone(); empty == nil {
		t.Error("an empty body became an absent one")
	}
	if got, want := b.SHA256(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("digest %q, want %q (FIPS 180-2, B.1)", got, want)
	}
}

func TestRaw_empty_is_not_absent(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{nil, {}, []byte("x"), bytes.Repeat([]byte{0, 0xff}, 1000)} {
		r := canonical.NewRaw(b)
		if !r.Present() || r.Size != int64(len(b)) || r.SHA256 != canonical.Body(b).SHA256() || r.AtLeast {
			t.Errorf("%d bytes: %+v", len(b), r)
		}
	}
	if (canonical.Raw{Size: 5 << 20, SHA256: "x", AtLeast: true}).Present() {
		t.Error("a result without its bytes is present")
	}
}

func TestHead_reference(t *testing.T) {
	t.Parallel()
	h := canonical.Head{Identity: someCall(), EvidenceID: "e-1", Strength: "replicas:1",
		Raw: canonical.RawInfo{Stored: true, Size: 7, SHA256: "abc", Pieces: "def"}}
	got, ok := h.Reference()
	want := evidence.Reference{Version: 1, EvidenceID: "e-1", RunID: "r1", Turn: "2", ToolCallID: "call_a", SHA256: "abc", Bytes: 7, Pieces: "def", Strength: "replicas:1"}
	if !ok || got != want {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	h.Raw.Stored = false
	if got, ok := h.Reference(); ok || got != (evidence.Reference{}) {
		t.Errorf("%+v of a result that is not kept", got)
	}
}

// The zero head is "no record", and so is one that cannot be read.
func TestHead_exists(t *testing.T) {
	t.Parallel()
	if (canonical.Head{}).Exists() || (canonical.Head{Identity: someCall(), Fault: canonical.ErrCorrupt}).Exists() {
		t.Error("a record exists that cannot be read")
	}
	for _, s := range []lifecycle.State{lifecycle.Projecting, lifecycle.Ready, lifecycle.Error} {
		if !(canonical.Head{State: s}).Exists() {
			t.Errorf("a record in state %s does not exist", s)
		}
	}
}

// T61: what is read for a list or for showing again has no path to raw or
// request, not even through a field of a field.
func TestViews_have_no_raw(t *testing.T) {
	t.Parallel()
	for _, at := range []reflect.Type{reflect.TypeFor[canonical.Head](), reflect.TypeFor[canonical.View]()} {
		for _, f := range reflect.VisibleFields(at) {
			if f.Type == reflect.TypeFor[canonical.Raw]() || f.Name == "Request" || f.Type == reflect.TypeFor[canonical.Request]() {
				t.Errorf("%v has %s", at, f.Name)
			}
			if f.Type == reflect.TypeFor[canonical.Body]() && f.Name != "Facts" && f.Name != "Coverage" && (f.Name != "Agent" || at.Name() == "Head") {
				t.Errorf("%v has the body %s", at, f.Name)
			}
		}
	}
	if _, ok := reflect.TypeFor[canonical.Record]().FieldByName("Request"); !ok {
		t.Error("a record has no request: this test looks for the wrong name")
	}
}

func TestEffect_zero_refuses(t *testing.T) {
	t.Parallel()
	for e, want := range map[canonical.Effect]struct{ read, valid bool }{
		"": {false, false}, canonical.EffectRead: {true, true}, canonical.EffectWrite: {false, true}, canonical.EffectUnknown: {false, true}, "READ": {false, false}, "read ": {false, false},
	} {
		if e.Read() != want.read || e.Valid() != want.valid {
			t.Errorf("%q: read %v, valid %v, want %+v", e, e.Read(), e.Valid(), want)
		}
	}
}

func sentinels() []error {
	return []error{canonical.ErrRunMissing, canonical.ErrRunTaken, canonical.ErrRunConflict, canonical.ErrRunTooLong, canonical.ErrRunClosed, canonical.ErrRunDamaged,
		canonical.ErrDuplicate, canonical.ErrTooLate, canonical.ErrDeadline, canonical.ErrUnresolvedEffect, canonical.ErrCapacity, canonical.ErrRunBudget, canonical.ErrToolBudget,
		canonical.ErrMissing, canonical.ErrConflict, canonical.ErrStillOpen, canonical.ErrNewerVersion, canonical.ErrForeign, canonical.ErrCorrupt}
}

func TestRefusedError(t *testing.T) {
	t.Parallel()
	for i, sentinel := range sentinels() {
		err := error(&canonical.RefusedError{Op: "admit", Call: someCall().Call, Err: sentinel, First: lifecycle.Ready})
		for j, other := range sentinels() {
			if errors.Is(err, other) != (i == j) {
				t.Errorf("%v is %v: %v", sentinel, other, errors.Is(err, other))
			}
		}
		if got, want := err.Error(), `store: admit "2:call_a": `+sentinel.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		err  canonical.RefusedError
		want string
	}{
		{canonical.RefusedError{Op: "open", Err: canonical.ErrRunTooLong, Wanted: 7, Limit: 5}, "store: open: the run would outlive its first record (wanted 7, limit 5)"},
		{canonical.RefusedError{Op: "close", Err: canonical.ErrRunTaken}, "store: close: the run belongs to another token"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestArgumentError_text(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  canonical.ArgumentError
		want string
	}{
		{canonical.ArgumentError{Op: "sweep", Field: "grace", Reason: "negative"}, "canonical: sweep: grace: negative"},
		{canonical.ArgumentError{Op: "admit", Field: "request", Reason: "too large in bytes", Size: 9, Limit: 8}, "canonical: admit: request: too large in bytes (9, limit 8)"},
	} {
		if got := c.err.Error(); got != c.want || strings.Contains(got, "\n") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestEffectVerdict_valid(t *testing.T) {
	t.Parallel()
	for v, want := range map[canonical.EffectVerdict]bool{canonical.Applied: true, canonical.NotApplied: true, "": false, "APPLIED": false, "maybe": false} {
		if v.Valid() != want {
			t.Errorf("%q: valid %v, want %v", v, v.Valid(), want)
		}
	}
}
