package redisstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"

	"github.com/toolharness/harness/canonical"
)

// Sizes that decide how a payload travels, in bytes. A payload that passes
// through Lua is hashed and copied there byte by byte, on the server's one
// thread; a short one costs less than the transaction around it would.
const (
	inlineBytes = 2 << 10            // up to here it is an argument of the script
	wholeBytes  = 1 << 20            // up to here it is one field, in one transaction with the script
	pieceBytes  = 256<<10 - 1<<10    // above, pieces of this size: a little less than an allocation class
	groupBytes  = 256 << 10          // fields that share one transaction of a large delivery
	hexDigest   = 2 * sha256.Size    // characters of a digest
	nameDigest  = 16                 // of them in a field's name
	words16     = "0123456789abcdef" // what a digest is made of
	kindRaw     = payloadKind("raw") // a tool's whole result
	kindAgent   = payloadKind("ag")  // what a model may get of it
	kindFacts   = payloadKind("fc")  // facts, as the projector encoded them
	kindCover   = payloadKind("cv")  // coverage, as the projector encoded it
	fieldJoiner = ":"                // in payload fields, and in no other field of a record
)

// payloadKind is the first part of a payload field's name.
type payloadKind string

// descriptor says what a payload is without its bytes. It is stored as JSON and
// never read by a script.
type descriptor struct {
	Size    int64   `json:"n"`
	SHA256  string  `json:"h"`
	AtLeast bool    `json:"more,omitzero"`   // the whole is larger than what was seen
	Absent  bool    `json:"absent,omitzero"` // known, and not kept
	Pieces  []piece `json:"p,omitempty"`     // where it is kept in several fields
}

// piece is one field of a payload that is kept in several.
type piece struct {
	Size   int64  `json:"n"`
	SHA256 string `json:"h"`
}

// payload is one body on its way into a hash: the fields that hold it.
type payload struct {
	names []string
	parts [][]byte
	desc  descriptor
}

// cut names the fields of a body: <kind>:<claim>:<start of its digest>, and a
// number where there are several. Other bytes have other names, so that nothing
// which is sent later can land in a field that was accepted. digest may be empty.
func cut(kind payloadKind, claim canonical.Claim, body canonical.Body, digest string) payload {
	if !isDigest(digest) {
		digest = body.SHA256()
	}
	base := string(kind) + fieldJoiner + string(claim) + fieldJoiner + digest[:nameDigest]
	p := payload{desc: descriptor{Size: int64(len(body)), SHA256: digest}}
	if len(body) <= wholeBytes {
		p.names, p.parts = []string{base}, [][]byte{body}
		return p
	}
	for rest := []byte(body); len(rest) > 0; {
		part := rest[:min(len(rest), pieceBytes)]
		rest = rest[len(part):]
		p.names = append(p.names, base+fieldJoiner+strconv.Itoa(len(p.parts)))
		p.parts = append(p.parts, part)
	}
	p.desc.Pieces = describe(p.parts)
	return p
}

// describe digests pieces, half of them on a second processor: their caller waits,
// and they take as long as anything else that is done with a large body.
func describe(parts [][]byte) []piece {
	pieces := make([]piece, len(parts))
	digest := func(from, to int) {
		for i := from; i < to; i++ {
			pieces[i] = piece{Size: int64(len(parts[i])), SHA256: canonical.Body(parts[i]).SHA256()}
		}
	}
	var other sync.WaitGroup
	half := len(parts) / 2
	other.Go(func() { digest(half, len(parts)) })
	digest(0, half)
	other.Wait()
	return pieces
}

// cutRaw describes a raw result. Without bytes it has a descriptor and no field.
func cutRaw(claim canonical.Claim, raw canonical.Raw) payload {
	if !raw.Present() {
		return payload{desc: descriptor{Size: raw.Size, SHA256: raw.SHA256, AtLeast: raw.AtLeast, Absent: true}}
	}
	p := cut(kindRaw, claim, raw.Bytes, raw.SHA256)
	p.desc.AtLeast = raw.AtLeast
	return p
}

// piecesDigest is a digest over the list of pieces: for each its SHA-256, 32
// bytes, and its size, 8 bytes big endian. Empty where there is only one field.
func (d descriptor) piecesDigest() string {
	if len(d.Pieces) == 0 {
		return ""
	}
	h := sha256.New()
	for _, p := range d.Pieces {
		sum, err := hex.DecodeString(p.SHA256)
		if err != nil {
			return ""
		}
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(p.Size))
		h.Write(sum)
		h.Write(size[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// names are the fields that hold a payload of this kind, out of those that a
// record names as accepted.
func (d descriptor) names(kind payloadKind, accepted []string) []string {
	var names []string
	for _, name := range accepted {
		if strings.HasPrefix(name, string(kind)+fieldJoiner) {
			names = append(names, name)
		}
	}
	return names
}

// join puts the fields of a payload together again. It reports false where one
// is missing, or where the bytes are not those of the descriptor: a body in one
// field is checked by the digest of the whole, one in pieces by theirs too.
func (d descriptor) join(parts []string) (canonical.Body, bool) {
	if len(parts) != max(len(d.Pieces), 1) {
		return nil, false
	}
	body := make(canonical.Body, 0, total(parts))
	for i, part := range parts {
		if len(d.Pieces) > 0 && (int64(len(part)) != d.Pieces[i].Size || canonical.Body(part).SHA256() != d.Pieces[i].SHA256) {
			return nil, false
		}
		body = append(body, part...)
	}
	if int64(len(body)) != d.Size || body.SHA256() != d.SHA256 {
		return nil, false
	}
	return body, true
}

// total is the size of all parts. A stored size must not decide how much memory
// is taken.
func total(parts []string) int {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	return n
}

// valid reports whether a stored descriptor can describe anything.
func (d descriptor) valid() bool {
	if d.Size < 0 || !d.Absent && !isDigest(d.SHA256) {
		return false
	}
	var sum int64
	for _, p := range d.Pieces {
		if p.Size < 1 || p.Size > d.Size || !isDigest(p.SHA256) {
			return false
		}
		sum += p.Size
	}
	return len(d.Pieces) == 0 || sum == d.Size && !d.Absent
}

func isDigest(text string) bool {
	return len(text) == hexDigest && strings.Trim(text, words16) == ""
}

// parcel collects the payloads of one message: short ones as arguments of the
// script, long ones as fields that are written beside it.
type parcel struct {
	names  []string // of all, in order
	inline []field
	beside []field
}

// field is a name and its bytes.
type field struct {
	name  string
	bytes []byte
}

func (p *parcel) add(pl payload) {
	p.names = append(p.names, pl.names...)
	for i, name := range pl.names {
		if pl.desc.Size <= inlineBytes {
			p.inline = append(p.inline, field{name: name, bytes: pl.parts[i]})
		} else {
			p.beside = append(p.beside, field{name: name, bytes: pl.parts[i]})
		}
	}
}

// put appends name and bytes of those that are arguments.
func (p *parcel) put(args *arguments) {
	for _, f := range p.inline {
		args.text(f.name)
		args.bytes(f.bytes)
	}
}

// sent lists name and size of the fields that travel beside the script.
func (p *parcel) sent() string {
	if len(p.beside) == 0 {
		return ""
	}
	size := 0
	for _, f := range p.beside {
		size += len(f.name) + 12
	}
	text := make([]byte, 0, size)
	for i, f := range p.beside {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(append(text, f.name...), ' ')
		text = strconv.AppendInt(text, int64(len(f.bytes)), 10)
	}
	return string(text)
}
