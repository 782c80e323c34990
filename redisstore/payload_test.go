package redisstore

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
)

func randomBody(seed byte, size int) canonical.Body {
	body := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(body)
	return body
}

var edges = []int{0, 1, inlineBytes - 1, inlineBytes, inlineBytes + 1, pieceBytes, wholeBytes - 1, wholeBytes, wholeBytes + 1, 4*pieceBytes + 1, 5 * pieceBytes, 4 << 20}

func TestPayload_cut_and_join_give_the_same_bytes(t *testing.T) {
	t.Parallel()
	for _, size := range edges {
		body := randomBody(1, size)
		p := cut(kindRaw, "claim", body, "")
		parts := make([]string, len(p.parts))
		for i, part := range p.parts {
			parts[i] = string(part)
			if len(p.parts) > 1 && (len(part) > 256<<10 || len(part) < 1) {
				t.Errorf("%d bytes: piece %d has %d", size, i, len(part))
			}
		}
		if (len(parts) > 1) != (size > wholeBytes) {
			t.Errorf("%d bytes are cut into %d", size, len(parts))
		}
		got, ok := p.desc.join(parts)
		if !ok || got == nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: joined %v, %d bytes", size, ok, len(got))
		}
		if !p.desc.valid() {
			t.Errorf("%d bytes: the descriptor is not valid: %+v", size, p.desc)
		}
		if (p.desc.piecesDigest() != "") != (len(parts) > 1) {
			t.Errorf("%d bytes: digest of the pieces is %q", size, p.desc.piecesDigest())
		}
	}
}

func TestPayload_join_notices_every_change(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, inlineBytes + 1, wholeBytes + 1} {
		p := cut(kindRaw, "claim", randomBody(2, size), "")
		whole := func() []string {
			var parts []string
			for _, part := range p.parts {
				parts = append(parts, string(part))
			}
			return parts
		}
		flip := whole()
		last := len(flip) - 1
		flip[last] = flip[last][:len(flip[last])-1] + string(flip[last][len(flip[last])-1]^1)
		short := whole()
		short[0] = short[0][1:]
		changed := map[string][]string{
			"a bit": flip, "a byte less": short, "a part less": whole()[1:], "a part more": append(whole(), ""), "nothing": nil,
		}
		if len(p.parts) > 1 {
			swapped := whole()
			swapped[0], swapped[1] = swapped[1], swapped[0]
			changed["two parts swapped"] = swapped
		}
		for what, parts := range changed {
			if body, ok := p.desc.join(parts); ok || body != nil {
				t.Errorf("%d bytes: %s was not noticed", size, what)
			}
		}
	}
}

// Other bytes, another claim or another kind have other names.
func TestPayload_names_never_meet(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	n := 0
	for _, kind := range []payloadKind{kindRaw, kindAgent, kindFacts, kindCover} {
		for _, claim := range []canonical.Claim{"c1", "c2"} {
			for seed := range byte(3) {
				for _, name := range cut(kind, claim, randomBody(seed, wholeBytes+1), "").names {
					names[name] = true
					n++
					if strings.ContainsAny(name, " {}") || !strings.HasPrefix(name, string(kind)+":"+string(claim)+":") {
						t.Errorf("name %q", name)
					}
				}
			}
		}
	}
	if len(names) != n {
		t.Errorf("%d of %d names are different", len(names), n)
	}
}

// A digest that is none must not get into a name, where it could hold a blank.
func TestPayload_digest_that_is_none_is_not_used(t *testing.T) {
	t.Parallel()
	body := canonical.Body("x")
	for _, digest := range []string{"", "short", strings.Repeat("g", 64), strings.Repeat(" ", 64), strings.Repeat("A", 64)} {
		if p := cut(kindRaw, "c", body, digest); p.desc.SHA256 != body.SHA256() {
			t.Errorf("digest %q was taken over", digest)
		}
	}
	given := strings.Repeat("a", 64)
	if p := cut(kindRaw, "c", body, given); p.desc.SHA256 != given {
		t.Errorf("a digest that is one was computed anew: %s", p.desc.SHA256)
	}
}

func TestPayload_parcel_sorts_by_size(t *testing.T) {
	t.Parallel()
	var p parcel
	small, large := cut(kindAgent, "c", randomBody(1, inlineBytes), ""), cut(kindRaw, "c", randomBody(2, inlineBytes+1), "")
	p.add(small)
	p.add(large)
	if len(p.inline) != 1 || p.inline[0].name != small.names[0] || string(p.inline[0].bytes) != string(small.parts[0]) || len(p.beside) != 1 || p.beside[0].name != large.names[0] {
		t.Errorf("inline %v, beside %v", p.inline[0].name, p.beside[0].name)
	}
	if want := large.names[0] + " " + strconv.Itoa(inlineBytes+1); p.sent() != want {
		t.Errorf("sent %q, want %q", p.sent(), want)
	}
	if want := []string{small.names[0], large.names[0]}; strings.Join(p.names, " ") != strings.Join(want, " ") {
		t.Errorf("names %v, want %v", p.names, want)
	}
}

func TestPayload_groups_hold_all_in_order(t *testing.T) {
	t.Parallel()
	sized := func(sizes ...int) []field {
		var list []field
		for i, n := range sizes {
			list = append(list, field{name: strconv.Itoa(i), bytes: make([]byte, n)})
		}
		return list
	}
	for _, c := range []struct {
		sizes []int
		want  string
	}{
		{[]int{5}, "0"},
		{[]int{wholeBytes}, "0"},
		{[]int{wholeBytes / 2, wholeBytes / 2}, "0 1"},
		{[]int{wholeBytes + 1}, "0"},
		{[]int{pieceBytes, pieceBytes, pieceBytes, pieceBytes, pieceBytes, 3000}, "0|1|2|3|4|5"},
		{[]int{pieceBytes, 100, 100, wholeBytes, 100, 100}, "0 1 2|3|4 5"},
	} {
		var text []string
		for _, g := range group(sized(c.sizes...)) {
			var names []string
			for _, f := range g {
				names = append(names, f.name)
			}
			text = append(text, strings.Join(names, " "))
		}
		if got := strings.Join(text, "|"); got != c.want {
			t.Errorf("%v: groups %q, want %q", c.sizes, got, c.want)
		}
	}
}

func TestPayload_descriptors_that_are_none(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("0", 64)
	for what, d := range map[string]descriptor{
		"negative": {Size: -1, SHA256: digest}, "no digest": {Size: 1}, "not a digest": {Size: 1, SHA256: "xyz"},
		"piece without size":  {Size: 1, SHA256: digest, Pieces: []piece{{SHA256: digest}}},
		"piece too large":     {Size: 1, SHA256: digest, Pieces: []piece{{Size: 2, SHA256: digest}}},
		"pieces do not fit":   {Size: 3, SHA256: digest, Pieces: []piece{{Size: 1, SHA256: digest}, {Size: 1, SHA256: digest}}},
		"piece not a digest":  {Size: 1, SHA256: digest, Pieces: []piece{{Size: 1, SHA256: "x"}}},
		"absent, with pieces": {Size: 1, SHA256: digest, Absent: true, Pieces: []piece{{Size: 1, SHA256: digest}}},
	} {
		if d.valid() {
			t.Errorf("%s: %+v counts as valid", what, d)
		}
	}
	if !(descriptor{Size: 9, AtLeast: true, Absent: true}).valid() {
		t.Error("a raw that was not kept and not digested counts as not valid")
	}
}
