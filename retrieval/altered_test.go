package retrieval_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/retrieval"
)

func TestAltered(t *testing.T) {
	onStores(t, keyed(), []scenario{
		{"E40_one_flipped_bit_of_a_stored_byte_is_found_before_a_byte_is_served", flipped},
		{"S39_E64_a_body_that_was_replaced_is_refused", replaced},
	})
}

// place is one byte of a stored field.
type place struct {
	key, field string
	at         int
	ref        evidence.Reference // of the record that the field belongs to
}

// altered puts other bytes into a field while do is done, and the old ones back.
func (d *deck) altered(t *testing.T, key, field, value string, do func()) {
	t.Helper()
	old, err := d.client.HGet(t.Context(), key, field).Result()
	if err != nil {
		t.Fatalf("HGET %s: %v", field, err)
	}
	defer func() {
		if err := d.client.HSet(t.Context(), key, field, old).Err(); err != nil {
			t.Errorf("HSET %s: %v", field, err)
		}
	}()
	if err := d.client.HSet(t.Context(), key, field, value).Err(); err != nil {
		t.Fatalf("HSET %s: %v", field, err)
	}
	do()
}

// checked are the parts of a record's fixed fields whose digest, copy or closed
// list of values lets a reader check them. The others (tool, principal, effect,
// stage, times) have none in the store; see the package comment.
func checked(field, value string) string {
	hide := func(from, to string) {
		start := strings.Index(value, from)
		if start < 0 {
			return
		}
		end := start + len(from)
		if n := strings.Index(value[end:], to); to != "" && n >= 0 {
			end += n
		}
		value = value[:start] + strings.Repeat("\x00", end-start) + value[end:]
	}
	switch field {
	case "md":
		hide(`"tool":`, `"operation_key"`)
	case "fm":
		hide(`"stage":`, `,`)
		hide(`"facts"`, "")
		hide(`"coverage"`, "")
	}
	return value
}

// places lists every byte that is looked at, by kind of field.
func (d *deck) places(t *testing.T, refs map[string]evidence.Reference) map[string][]place {
	t.Helper()
	out := map[string][]place{}
	keys, err := d.client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if kind := d.client.Type(t.Context(), key).Val(); kind != "hash" {
			continue
		}
		fields, err := d.client.HGetAll(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		_, call, _ := strings.Cut(key, ":call::")
		for field, value := range fields {
			kind, ref := field, refs[call]
			switch {
			case strings.HasPrefix(field, "e:"): // of the ledger
				ref, kind = refs[strings.TrimPrefix(value, ":")], "e:"
			case call == "":
				continue
			case strings.Contains(field, ":"):
				kind, _, _ = strings.Cut(field, ":")
			}
			if !slices.Contains([]string{"e:", "v", "st", "sq", "ev", "rq", "md", "rm", "fm", "ac", "xe", "raw", "ag", "fc", "cv"}, kind) {
				continue
			}
			for i, c := range []byte(checked(field, value)) {
				if c != 0 || kind == "raw" || kind == "rq" {
					out[kind] = append(out[kind], place{key, field, i, ref})
				}
			}
		}
	}
	return out
}

func flipped(t *testing.T, d *deck) {
	b := newBench(t, d)
	refs := map[string]evidence.Reference{}
	for id, raw := range map[string]string{"text": hard(), "long": strings.Repeat("0123456789abcdef", 1<<9), "pieces": strings.Repeat("pieces! ", 1<<17+1000)} {
		refs[id] = b.kept(b.run, id, raw)
	}
	places := d.places(t, refs)
	kinds := slices.Sorted(maps.Keys(places))
	if len(kinds) != 15 {
		t.Fatalf("fields of the kinds %q", kinds)
	}
	rounds := 150
	if os.Getenv("FAULTS") == "full" {
		rounds = 1000
	}
	random := rand.New(rand.NewPCG(6, uint64(rounds)))
	for i := range rounds {
		kind := kinds[i%len(kinds)] // every kind as often as any other
		p := places[kind][random.IntN(len(places[kind]))]
		old, err := d.client.HGet(t.Context(), p.key, p.field).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(old)
		changed[p.at] ^= 1 << random.IntN(8)
		d.altered(t, p.key, p.field, string(changed), func() {
			what := fmt.Sprintf("byte %d of %s of %s", p.at, p.field, p.ref.ToolCallID)
			if record, err := b.Record(t.Context(), p.ref); err == nil {
				t.Errorf("%s: not found, and a record of %d bytes is served", what, record.Raw.Size)
			}
			if kind != "raw" && kind != "rm" {
				return
			}
			if got, err := b.Read(t.Context(), p.ref, retrieval.Part{Max: 1}); err == nil || got != (retrieval.Chunk{}) {
				t.Errorf("%s: read %d bytes, %v", what, len(got.Text), err)
			}
			if got, err := b.Open(t.Context(), p.ref); err == nil || got != nil {
				t.Errorf("%s: opened %d bytes, %v", what, len(got), err)
			}
			if protected, err := b.Protected(t.Context(), retrieval.Pair{Run: "run-1", Call: named(p.ref.ToolCallID), Tool: "search"}); !protected {
				t.Errorf("%s: the host's copy is not protected, %v", what, err)
			}
			if kind != "rm" { // it has no body in it, so there are few
				return
			}
			if _, err := b.Export(t.Context(), &bytes.Buffer{}, "run-1"); err == nil {
				t.Errorf("%s: exported", what)
			}
		})
	}
	for id, ref := range refs {
		if _, err := b.Record(t.Context(), ref); err != nil {
			t.Errorf("%s, put back: %v", id, err)
		}
	}
	export(t, b.Reader, "run-1")
}

func replaced(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "as it was")
	for _, p := range d.places(t, map[string]evidence.Reference{"c1": ref})["raw"][:1] {
		for _, value := range []string{"", "as it wa", "as it was ", strings.Repeat("x", 9<<20)} {
			d.altered(t, p.key, p.field, value, func() {
				_, err := b.Read(t.Context(), ref, retrieval.Part{})
				want(t, fmt.Sprintf("%d bytes in its place", len(value)), err, retrieval.ErrCorrupt)
			})
		}
		if err := d.client.HDel(t.Context(), p.key, p.field).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := b.Read(t.Context(), ref, retrieval.Part{})
		want(t, "nothing in its place", err, retrieval.ErrCorrupt)
	}
}

// The store in memory has one way of being damaged.
func TestAltered_in_memory(t *testing.T) {
	onStores(t, []backend{{"fake", fakeDeck}}, []scenario{
		{"E40_a_flipped_bit_is_found_before_a_byte_is_served", flippedInMemory},
		{"a_store_that_gives_other_bytes_is_not_believed", liar},
	})
}

// lying is a store whose raw results are not what its records say.
type lying struct {
	canonical.Store
	alter func(*canonical.RawPart)
}

func (l lying) RawPart(ctx context.Context, run canonical.RunKey, call canonical.CallName, offset int64, max int) (canonical.RawPart, error) {
	part, err := l.Store.RawPart(ctx, run, call, offset, max)
	l.alter(&part)
	return part, err
}

func liar(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "as it was")
	for what, alter := range map[string]func(*canonical.RawPart){
		"other bytes":  func(p *canonical.RawPart) { p.Bytes[0] ^= 1 },
		"fewer bytes":  func(p *canonical.RawPart) { p.Bytes = p.Bytes[:1] },
		"of other raw": func(p *canonical.RawPart) { p.Raw.Pieces = ref.SHA256 },
	} {
		r := reader(t, retrieval.Config{Store: lying{d.Store, alter}})
		_, err := r.Read(t.Context(), ref, retrieval.Part{})
		want(t, what, err, retrieval.ErrCorrupt)
		_, err = r.Open(t.Context(), ref)
		want(t, what, err, retrieval.ErrCorrupt)
	}
}

func flippedInMemory(t *testing.T, d *deck) {
	b := newBench(t, d)
	ref := b.kept(b.run, "c1", "as it was")
	b.kept(b.run, "c2", "fine")
	if !d.Store.(*fakes.Store).Corrupt(canonical.Identity{RunKey: b.run.Key(), Call: named("c1")}) {
		t.Fatal("nothing to corrupt")
	}
	_, err := b.Read(t.Context(), ref, retrieval.Part{})
	want(t, "read", err, retrieval.ErrCorrupt)
	_, err = b.Open(t.Context(), ref)
	want(t, "open", err, retrieval.ErrCorrupt)
	_, err = b.Record(t.Context(), ref)
	want(t, "record", err, retrieval.ErrCorrupt)
	_, err = b.Export(t.Context(), &bytes.Buffer{}, "run-1")
	if e := want(t, "export", err, retrieval.ErrCorrupt); e.Field != "call :c1" {
		t.Errorf("field %q", e.Field)
	}
	if !d.Store.(*fakes.Store).SetForeign(canonical.Identity{RunKey: b.run.Key(), Call: named("c1")}) {
		t.Fatal("nothing to replace")
	}
	page, err := b.List(t.Context(), retrieval.Filter{Tool: "search"}, "", 0)
	if err != nil || ids(page.Entries) != "c1 c2" || page.Entries[0].Fault == nil {
		t.Errorf("listed %s, %v: an unreadable record hides no other", ids(page.Entries), err)
	}
}
