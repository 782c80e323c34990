package boundary

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"

	"github.com/toolharness/harness/canonical"
)

// rawWriter collects a raw result up to its limit. Beyond the limit it keeps
// size and digest of what it saw and drops the bytes: a result is whole or
// absent, never cut. It is locked, since an executor that was left behind may
// still write while its call is long over.
type rawWriter struct {
	mu    sync.Mutex
	limit int64
	body  []byte
	size  int64
	hash  hash.Hash
	over  bool
	shut  bool   // the body has returned
	onHit func() // called once, when the limit is passed
}

func newRawWriter(limit int64, onHit func()) *rawWriter {
	return &rawWriter{limit: limit, hash: sha256.New(), body: []byte{}, onHit: onHit}
}

// Write never keeps p. Once over the limit, or after the body has returned, it
// takes nothing more and says so: what came too late is not in the result.
func (w *rawWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
		return 0, ErrRawLimit
	case w.shut:
		return 0, io.ErrClosedPipe
	}
	w.hash.Write(p)
	w.size += int64(len(p))
	if w.size > w.limit {
		w.over, w.body = true, nil
		w.onHit()
		return 0, ErrRawLimit
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// finish is raw for a body that has returned.
func (w *rawWriter) finish() canonical.Raw {
	w.mu.Lock()
	w.shut = true
	w.mu.Unlock()
	return w.raw()
}

// raw is what was collected. Its bytes are handed over, not copied.
func (w *rawWriter) raw() canonical.Raw {
	w.mu.Lock()
	defer w.mu.Unlock()
	return canonical.Raw{Bytes: w.body, Size: w.size, SHA256: hex.EncodeToString(w.hash.Sum(nil)), AtLeast: w.over}
}

// isOver reports whether the limit was passed.
func (w *rawWriter) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}
