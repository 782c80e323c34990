package records

import (
	"errors"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/redact/text"
	"github.com/toolharness/harness/retrieval"
)

// MaxRaw is the largest raw result that is read, in bytes. The default limit of a boundary is a sixteenth of it.
const MaxRaw = 64 << 20

// Reader answers about the runs of one scope. It is safe for concurrent use and owns nothing: the store is the caller's.
type Reader struct {
	scope    canonical.Scope
	store    canonical.Store
	reader   *retrieval.Reader
	redactor *redact.Redactor
}

// New checks the scope and sends nothing. An error is of the scope, with its field.
func New(store canonical.Store, scope canonical.Scope) (*Reader, error) {
	redactor, err := redact.New(redact.Config{
		Rules: []redact.Finder{text.New(redact.Keys{})},
		// Three times as much, since each byte that is not UTF-8 is shown by a character of three.
		Limits: redact.Limits{Bytes: 3 * MaxRaw},
	})
	if err != nil {
		return nil, err
	}
	reader, err := retrieval.New(retrieval.Config{
		Scope: scope, Store: store, Redactor: redactor,
		RawBytes: MaxRaw, ChunkBytes: retrieval.MaxChunk, CacheBytes: 3 * MaxRaw, // a view is made once, however long it is
	})
	if err != nil {
		return nil, err
	}
	return &Reader{scope: scope, store: store, reader: reader, redactor: redactor}, nil
}

func (r *Reader) key(run canonical.RunID) canonical.RunKey {
	return canonical.RunKey{Scope: r.scope, Run: run}
}

// Place is where a page begins and how long it is.
type Place struct {
	After string // Next of the page before; empty: the beginning
	Limit int    // entries, 1 to retrieval.MaxPage; zero: retrieval.DefaultPage
}

// The words for what cannot be read, in documents.
const (
	FaultCorrupt = "corrupt" // stored bytes do not match what was recorded of them, or are no record
	FaultVersion = "version" // written by a newer version
)

func faultOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, retrieval.ErrVersion), errors.Is(err, canonical.ErrNewerVersion):
		return FaultVersion
	}
	return FaultCorrupt
}
