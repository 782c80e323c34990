package retrieval

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
)

// place is where a list is: behind the call with sequence seq of a run. A run that
// is opened or goes meanwhile moves nobody: runs are walked by the end of their
// life and their id, calls by their sequence, and none of these ever changes.
type place struct {
	run     canonical.RunID
	expires time.Time // of the run; zero in the list of one run
	seq     int64
}

// maxCursor bounds a cursor in bytes, before anything of it is read.
const maxCursor = 512

// cursorVersion stands first in every cursor.
const cursorVersion = "1"

// cursor writes a place for a caller who should not read it. It is bound to the
// list that it came from and has a checksum, so that one of another list, or one
// that was mangled on its way, is refused instead of read as some other place. It
// is no secret and grants nothing: a list never leaves the reader's scope.
func (p place) cursor(bound string) string {
	text := strings.Join([]string{cursorVersion, bound, strconv.FormatInt(millis(p.expires), 10), strconv.FormatInt(p.seq, 10), string(p.run)}, "/")
	return base64.RawURLEncoding.EncodeToString([]byte(text + "/" + checksum(text)))
}

// readCursor reads what cursor wrote for the same list; the empty text is the
// beginning.
func readCursor(op, text, bound string) (place, error) {
	if text == "" {
		return place{}, nil
	}
	bad := fail(op, "after", ErrCursor)
	if len(text) > maxCursor {
		return place{}, outside(op, "after", int64(len(text)), maxCursor)
	}
	plain, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return place{}, bad
	}
	fields := strings.Split(string(plain), "/")
	if len(fields) != 6 {
		return place{}, bad
	}
	expires, errExpires := strconv.ParseInt(fields[2], 10, 64)
	seq, errSeq := strconv.ParseInt(fields[3], 10, 64)
	run, errRun := canonical.ParseRunID(fields[4])
	if errExpires != nil || errSeq != nil || errRun != nil || seq < 0 {
		return place{}, bad
	}
	p := place{run: run, seq: seq}
	if expires != 0 {
		p.expires = time.UnixMilli(expires).UTC()
	}
	if p.cursor(bound) != text { // version, list, checksum, and the one way to write it
		return place{}, bad
	}
	return p, nil
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func checksum(text string) string {
	sum := sha256.Sum256([]byte("cursor/" + text))
	return hex.EncodeToString(sum[:8])
}

// binding is a digest over all that makes a list the same list.
func binding(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
