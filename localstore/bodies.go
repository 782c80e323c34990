package localstore

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/toolharness/harness/canonical"
)

// Sizes of bodies, in bytes.
const (
	pieceBytes = 256 << 10       // a body is kept in pieces of this size
	entryBytes = sha256.Size + 8 // of a piece in the list of pieces: its digest and its size
	listPlace  = 1<<63 - 1       // where the list of pieces stands, behind the last
)

// descriptor says what a body is and where it is kept.
type descriptor struct {
	ID      int64  `json:"id,omitempty"` // number of the body in its run; zero where nothing is kept
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
	AtLeast bool   `json:"at_least,omitempty"` // the whole is larger than what was seen
	Absent  bool   `json:"absent,omitempty"`   // known, and not kept
	Pieces  string `json:"pieces,omitempty"`   // digest of the list of pieces, where there are several
}

// info is what is known of a raw result without its bytes.
func (d *descriptor) info() canonical.RawInfo {
	if d == nil {
		return canonical.RawInfo{}
	}
	return canonical.RawInfo{Stored: !d.Absent, Size: d.Size, SHA256: d.SHA256, AtLeast: d.AtLeast, Pieces: d.Pieces}
}

// body is one body on its way into the file.
type body struct {
	desc  descriptor
	parts [][]byte
	list  []byte // digest and size of each piece, where there are several
}

// cut divides a body. digest is the whole's, where it is known already. It reads
// every byte, and so belongs before the transaction.
func cut(b canonical.Body, digest string) body {
	if len(digest) != 2*sha256.Size {
		digest = b.SHA256()
	}
	out := body{desc: descriptor{Size: int64(len(b)), SHA256: digest}}
	for rest := []byte(b); len(rest) > 0; {
		part := rest[:min(len(rest), pieceBytes)]
		rest = rest[len(part):]
		out.parts = append(out.parts, part)
	}
	if len(out.parts) < 2 {
		return out
	}
	for _, part := range out.parts {
		sum := sha256.Sum256(part)
		out.list = append(append(out.list, sum[:]...), number(int64(len(part)))...)
	}
	out.desc.Pieces = canonical.Body(out.list).SHA256()
	return out
}

// cutRaw divides a raw result; one without bytes has a descriptor alone. It
// answers nil where nothing is known.
func cutRaw(raw canonical.Raw) *body {
	if !raw.Present() {
		if raw.Size == 0 && raw.SHA256 == "" && !raw.AtLeast {
			return nil
		}
		return &body{desc: descriptor{Size: raw.Size, SHA256: raw.SHA256, AtLeast: raw.AtLeast, Absent: true}}
	}
	b := cut(raw.Bytes, raw.SHA256)
	b.desc.AtLeast = raw.AtLeast
	return &b
}

// pieces is the digest over the list of pieces; empty where there is no list.
func (b *body) pieces() string {
	if b == nil {
		return ""
	}
	return b.desc.Pieces
}

// keepBody writes a body under a number of its own and says where it is. Numbers
// grow, so that pieces are added behind each other and none is moved.
func (r *run) keepBody(b *body) *descriptor {
	if b == nil {
		return nil
	}
	d := b.desc
	if len(b.parts) == 0 {
		return &d
	}
	id, err := r.bodies.NextSequence()
	r.t.dirty = true
	r.t.fail(err)
	d.ID = int64(id)
	for i, part := range b.parts {
		r.t.put(r.bodies, number(d.ID)+number(int64(i)), part)
	}
	if b.list != nil {
		r.t.put(r.bodies, number(d.ID)+number(listPlace), b.list)
	}
	return &d
}

// dropBody removes a body.
func (r *run) dropBody(d *descriptor) {
	if d == nil || d.ID == 0 {
		return
	}
	last := max(d.Size-1, 0) / pieceBytes
	for i := int64(0); i <= last; i++ {
		r.t.delete(r.bodies, number(d.ID)+number(i))
	}
	r.t.delete(r.bodies, number(d.ID)+number(listPlace))
}

// readBody copies a whole body and checks it: each piece by its digest, and all by
// that of the whole. The error is exactly ErrCorrupt.
func (r *run) readBody(d descriptor) (canonical.Body, error) {
	out, err := r.readPart(d, 0, d.Size)
	onePiece := d.Pieces == "" && d.Size > 0 // whose digest is that of the whole
	if err != nil || !onePiece && out.SHA256() != d.SHA256 {
		return nil, canonical.ErrCorrupt
	}
	return out, nil
}

// readPart copies the bytes of a body from offset to end and checks the pieces that
// they lie in, which are the only ones that are read. The error is exactly
// ErrCorrupt.
func (r *run) readPart(d descriptor, offset, end int64) (canonical.Body, error) {
	out := canonical.Body{}
	if end <= offset {
		return out, nil
	}
	list, err := r.piecesOf(d)
	if err != nil {
		return nil, err
	}
	out = make(canonical.Body, 0, end-offset)
	var at int64
	for i, p := range list {
		if at < end && at+p.size > offset {
			part := r.bodies.Get([]byte(number(d.ID) + number(int64(i))))
			if int64(len(part)) != p.size || canonical.Body(part).SHA256() != p.digest {
				return nil, canonical.ErrCorrupt
			}
			out = append(out, part[max(offset-at, 0):min(end-at, p.size)]...)
		}
		at += p.size
	}
	if at != d.Size || int64(len(out)) != end-offset {
		return nil, canonical.ErrCorrupt
	}
	return out, nil
}

// piece is one entry of a list of pieces.
type piece struct {
	digest string
	size   int64
}

// piecesOf reads the list of pieces, or makes the one of a body in one piece.
func (r *run) piecesOf(d descriptor) ([]piece, error) {
	if d.Pieces == "" {
		return []piece{{digest: d.SHA256, size: d.Size}}, nil
	}
	list := r.bodies.Get([]byte(number(d.ID) + number(listPlace)))
	if len(list)%entryBytes != 0 || canonical.Body(list).SHA256() != d.Pieces {
		return nil, canonical.ErrCorrupt
	}
	var out []piece
	for len(list) > 0 {
		size, _, _ := numberOf(string(list[sha256.Size:entryBytes]))
		out = append(out, piece{digest: hex.EncodeToString(list[:sha256.Size]), size: size})
		list = list[entryBytes:]
	}
	return out, nil
}
