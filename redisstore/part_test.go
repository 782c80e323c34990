package redisstore_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
)

// kept admits a read call and ends it with a raw result.
func kept(t *testing.T, e env, run string, raw []byte) canonical.Admission {
	t.Helper()
	state := open(t, e.store, run)
	a := admission(state, "c1", canonical.EffectRead)
	complete(t, e.store, ready(a, admit(t, e.store, a).Expires, raw))
	return a
}

// flip changes one bit of a field.
func flip(t *testing.T, e env, key, field string, at int) {
	t.Helper()
	value, err := e.client.HGet(ctx, key, field).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	value[at] ^= 1
	if err := e.client.HSet(ctx, key, field, value).Err(); err != nil {
		t.Fatal(err)
	}
}

// A flipped byte takes away the parts that lie in its piece, and no other.
func TestRawPart_flipped_byte_in_one_piece(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		const piece = 255 << 10
		raw := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
		a := kept(t, e, "r", raw)
		for _, field := range payloadFields(t, e, e.record(a)) {
			if strings.HasPrefix(field, "raw:") && strings.HasSuffix(field, ":2") {
				flip(t, e, e.record(a), field, 1000)
			}
		}
		for _, part := range []struct {
			offset, size int
			corrupt      bool
		}{
			{0, 1, false}, {0, 2 * piece, false}, {2*piece - 1, 1, false}, {2*piece - 1, 2, true}, {2 * piece, 1, true},
			{3*piece - 1, 1, true}, {3 * piece, len(raw), false}, {0, len(raw), true}, {len(raw), 1, false},
		} {
			got, err := e.store.RawPart(ctx, a.Run, a.Call, int64(part.offset), part.size)
			want := raw[part.offset:min(part.offset+part.size, len(raw))]
			switch {
			case part.corrupt && (!errors.Is(err, canonical.ErrCorrupt) || got.Bytes != nil):
				t.Errorf("%d bytes from %d on = %d bytes, %v; want ErrCorrupt", part.size, part.offset, len(got.Bytes), err)
			case !part.corrupt && (err != nil || !bytes.Equal(got.Bytes, want)):
				t.Errorf("%d bytes from %d on = %d bytes, %v; want %d that were stored", part.size, part.offset, len(got.Bytes), err, len(want))
			}
		}
	})
}

// What the record says of its pieces is checked as well: whoever holds a
// reference sees another list by its digest, and a piece that is missing, or no
// longer named, is no shorter result.
func TestRawPart_list_of_pieces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		raw := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
		for what, harm := range map[string]func(key, last string) error{
			"a_piece_is_gone": func(key, last string) error { return e.client.HDel(ctx, key, last).Err() },
			"a_piece_is_not_named": func(key, last string) error {
				named := e.client.HGet(ctx, key, "ac").Val()
				return e.client.HSet(ctx, key, "ac", strings.Replace(named, last, "", 1)).Err()
			},
			"a_piece_has_another_size": func(key, last string) error {
				return e.client.HSet(ctx, key, last, "short").Err()
			},
		} {
			a := kept(t, e, what, raw)
			var last string
			for _, field := range payloadFields(t, e, e.record(a)) {
				if strings.HasPrefix(field, "raw:") && strings.HasSuffix(field, ":12") {
					last = field
				}
			}
			if last == "" {
				t.Fatal("the raw result has no thirteenth piece")
			}
			if err := harm(e.record(a), last); err != nil {
				t.Fatal(err)
			}
			if got, err := e.store.RawPart(ctx, a.Run, a.Call, int64(len(raw)-1), 1); !errors.Is(err, canonical.ErrCorrupt) {
				t.Errorf("%s: the last byte = %q, %v; want ErrCorrupt", what, []byte(got.Bytes), err)
			}
		}
		a := kept(t, e, "list", raw)
		rec, err := e.store.Record(ctx, a.Run, a.Call)
		if err != nil {
			t.Fatal(err)
		}
		ref, _ := rec.Reference()
		meta := e.client.HGet(ctx, e.record(a), "rm").Val()
		digest := canonical.Body(raw[:255<<10]).SHA256()
		other := strings.Replace(meta, digest, strings.Repeat("0", len(digest)), 1)
		if other == meta {
			t.Fatal("the digest of the first piece is not where it was looked for")
		}
		if err := e.client.HSet(ctx, e.record(a), "rm", other).Err(); err != nil {
			t.Fatal(err)
		}
		part, err := e.store.RawPart(ctx, a.Run, a.Call, int64(len(raw)-1), 1)
		if err != nil || part.Raw.Pieces == ref.Pieces || part.Raw.SHA256 != ref.SHA256 {
			t.Errorf("a part behind a changed list = %+v, %v; want it with another digest of the list than the reference's", part.Raw, err)
		}
	})
}

func TestRawPart_trips(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) env{"embedded": mini, "redis": shared} {
		t.Run(name, func(t *testing.T) {
			e := start(t)
			raw := make([]byte, 3<<20)
			a := kept(t, e, "r", raw)
			s, w := wired(t, e, -1)
			w.took(t, "a part", 2, func() error { _, err := s.RawPart(ctx, a.Run, a.Call, 1<<20, 1<<20); return err })
			w.took(t, "the empty part", 1, func() error { _, err := s.RawPart(ctx, a.Run, a.Call, int64(len(raw)), 1); return err })
			w.took(t, "evidence", 1, func() error { _, err := s.FindEvidence(ctx, a.Run, a.EvidenceID); return err })
		})
	}
}
