package localstore

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"

	"github.com/toolharness/harness/canonical"
)

// A stored value is sealed: a mark, the version of what it holds, and the first 16
// bytes of SHA-256 over the place where it stands and what it holds. The pages of
// the file have no checksums of their own.
const (
	sealMark    = 'H'
	sealDigest  = 16
	sealBytes   = 2 + sealDigest
	placeJoiner = "\x00" // in no key
)

// seal wraps what is stored under key in holder: a run, or one of the file's own
// buckets.
func seal(holder, key string, value []byte) []byte {
	out := make([]byte, 0, sealBytes+len(value))
	out = append(out, sealMark, canonical.SchemaVersion)
	out = append(out, sealOf(holder, key, value)...)
	return append(out, value...)
}

// unseal returns what was stored under key in holder, which shares the memory of
// sealed. The error is exactly ErrForeign, ErrNewerVersion or ErrCorrupt.
func unseal(holder, key string, sealed []byte) ([]byte, error) {
	switch {
	case len(sealed) < sealBytes || sealed[0] != sealMark:
		return nil, canonical.ErrForeign
	case sealed[1] > canonical.SchemaVersion:
		return nil, canonical.ErrNewerVersion
	case sealed[1] < 1:
		return nil, canonical.ErrCorrupt
	}
	value := sealed[sealBytes:]
	if subtle.ConstantTimeCompare(sealed[2:sealBytes], sealOf(holder, key, value)) != 1 {
		return nil, canonical.ErrCorrupt
	}
	return value, nil
}

func sealOf(holder, key string, value []byte) []byte {
	h := sha256.New()
	for _, part := range []string{holder, key} {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	h.Write(value)
	return h.Sum(nil)[:sealDigest]
}

// number writes n, which is not negative, so that keys sort as numbers do.
func number(n int64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(max(n, 0)))
	return string(b[:])
}

// numberOf reads the number that text begins with, and returns the rest.
func numberOf(text string) (n int64, rest string, ok bool) {
	if len(text) < 8 {
		return 0, "", false
	}
	u := binary.BigEndian.Uint64([]byte(text[:8]))
	return int64(u), text[8:], u < 1<<63
}
