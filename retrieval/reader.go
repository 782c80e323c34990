package retrieval

import (
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/redact"
)

// Defaults and limits of [Config].
const (
	DefaultSlots    = 8
	MaxSlots        = 1024
	DefaultRawBytes = 8 << 20  // what one read takes into memory
	DefaultChunk    = 64_000   // bytes of text in one chunk
	MaxChunk        = 8 << 20  //
	DefaultCache    = 16 << 20 // bytes of text in views that are kept
	MaxCache        = 1 << 30  //
	NoCache         = -1       // Config.CacheBytes: every chunk is verified and redacted anew
)

// Config is what a [Reader] is made of. Zero fields take the defaults above.
type Config struct {
	Scope canonical.Scope // required: whose evidence this is; never taken from a model
	Store canonical.Store // required

	// Redactor makes the views. Nil: by the names of credentials alone.
	Redactor *redact.Redactor

	Slots      int   // reads of bodies at once; more are ErrBusy
	RawBytes   int64 // the largest raw result that is read; above it ErrTooLarge
	ChunkBytes int   // the largest chunk that may be asked for
	CacheBytes int64 // of views kept between chunks, or NoCache
}

// Reader reads what the calls of one scope left behind. It is safe for concurrent
// use. It has no way to a tool: nothing here can run one again.
type Reader struct {
	scope canonical.Scope
	*shared
}

// shared is what readers of several scopes have in common.
type shared struct {
	store    canonical.Store
	redactor *redact.Redactor
	slots    chan struct{}
	views    *viewCache
	rawBytes int64
	chunk    int
}

// New checks the configuration and sends nothing. There is no default scope.
func New(c Config) (*Reader, error) {
	const op = "new"
	if err := c.Scope.Validate(); err != nil {
		return nil, of(op, err)
	}
	if c.Store == nil {
		return nil, fail(op, "Store", ErrArgument)
	}
	for _, f := range []struct {
		name               string
		value              *int64
		fallback, low, top int64
	}{
		{"RawBytes", &c.RawBytes, DefaultRawBytes, 1, canonical.MaxBudgetBytes},
		{"CacheBytes", &c.CacheBytes, DefaultCache, NoCache, MaxCache},
	} {
		if *f.value == 0 {
			*f.value = f.fallback
		}
		if *f.value < f.low || *f.value > f.top {
			return nil, outside(op, f.name, *f.value, f.top)
		}
	}
	if c.Slots == 0 {
		c.Slots = DefaultSlots
	}
	if c.Slots < 1 || c.Slots > MaxSlots {
		return nil, outside(op, "Slots", int64(c.Slots), MaxSlots)
	}
	if c.ChunkBytes == 0 {
		c.ChunkBytes = DefaultChunk
	}
	if c.ChunkBytes < 1 || c.ChunkBytes > MaxChunk {
		return nil, outside(op, "ChunkBytes", int64(c.ChunkBytes), MaxChunk)
	}
	if c.Redactor == nil {
		byNames, err := redact.New(redact.Config{Limits: redact.Limits{Bytes: int(min(3*c.RawBytes, 1<<40))}})
		if err != nil {
			return nil, &Error{Op: op, Field: "Redactor", Err: ErrArgument, cause: err}
		}
		c.Redactor = byNames
	}
	return &Reader{scope: c.Scope, shared: &shared{
		store: c.Store, redactor: c.Redactor, slots: make(chan struct{}, c.Slots),
		views: newViewCache(c.CacheBytes), rawBytes: c.RawBytes, chunk: c.ChunkBytes,
	}}, nil
}

// In is a reader of another scope that shares store, redactor, read slots and
// memory with r. The scope is the host's word, as in [Config].
func (r *Reader) In(scope canonical.Scope) (*Reader, error) {
	if err := scope.Validate(); err != nil {
		return nil, of("in", err)
	}
	return &Reader{scope: scope, shared: r.shared}, nil
}

// Scope is whose evidence r reads.
func (r *Reader) Scope() canonical.Scope { return r.scope }

// MaxChunkBytes is the largest chunk that may be asked for.
func (r *Reader) MaxChunkBytes() int { return r.chunk }

// take takes a read slot, or says that there is none. It never waits.
func (r *Reader) take(op string) (give func(), err error) {
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	default:
		return nil, &Error{Op: op, Err: ErrBusy, Got: int64(cap(r.slots)), Limit: int64(cap(r.slots))}
	}
}

func (r *Reader) key(run canonical.RunID) canonical.RunKey {
	return canonical.RunKey{Scope: r.scope, Run: run}
}
