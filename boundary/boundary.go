package boundary

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redact"
)

// Config is what a boundary is made of.
type Config struct {
	Store      canonical.Store  // required
	Authorizer Authorizer       // required; AllowAll must be written out
	Effects    EffectPolicy     // zero: read only
	Limits     canonical.Limits // zero fields: defaults

	// ScopeQuota bounds what all runs of one scope may hold together, in whatever
	// process they are opened. OpenRun reserves a run's whole budget, which must
	// then have limits for calls and bytes, and answers CAPACITY_EXHAUSTED where it
	// does not fit; closing a run gives back what it did not use. Zero: no quota.
	ScopeQuota canonical.Quota

	// Codes are the host's own codes with their text for the model, at most 256
	// bytes each. Tools and projectors may report these and no others.
	Codes map[lifecycle.Code]string

	// Findings judges what models cite, for every toolset and call of this
	// boundary. See package findings, and Toolset.WithFindings for one toolset alone.
	Findings bool

	// RedactBeforeStore is for hosts that may not keep credentials: arguments and
	// results are stored as its view, results are projected and handed over as it,
	// too, and digests and references are those of the view. The tool itself gets
	// its arguments as they are. A result of which no view can be made is lost, and
	// its call ends as PROJECTION_FAILED. nil: verbatim, for the host alone.
	RedactBeforeStore *redact.Redactor

	// CaptureBytes is how much a tool may return before redaction, where that
	// makes results shorter; zero, and below Limits.RawBytes: Limits.RawBytes.
	// Memory is its bound. Only with RedactBeforeStore; at most MaxCaptureBytes.
	CaptureBytes int64

	// Parallelism is how many reads of one message [Toolset.Dispatch] runs at once,
	// 1 to MaxParallelism; zero means 8.
	Parallelism int

	Logger   *zap.Logger // nil: silent. One line per call; callers need not log again
	Observer Observer    // nil: none

	// OnRetained gets what could not be stored, or came too late. It is called
	// once for each, on the goroutine that has the result; a panic in it is
	// caught. It is the only way to such raw bytes besides Shutdown's error.
	OnRetained func(context.Context, Retained)

	// Now is the clock; nil means time.Now. It measures how much of a run's time
	// has passed and must move with the store's clock where a test moves that.
	// It is never compared with the store's.
	Now func() time.Time
}

// MaxParallelism bounds Config.Parallelism: so many admissions share one write.
const (
	MaxParallelism     = 64
	defaultParallelism = 8
)

// MaxCaptureBytes bounds Config.CaptureBytes.
const MaxCaptureBytes = 64 << 20

// EffectPolicy says which effects besides read a boundary lets through. The zero
// value admits reads only.
type EffectPolicy struct {
	Write   bool // tools that write
	Unknown bool // tools whose effect nobody knows
}

func (p EffectPolicy) allows(e canonical.Effect) bool {
	switch e {
	case canonical.EffectRead:
		return true
	case canonical.EffectWrite:
		return p.Write
	default:
		return p.Unknown
	}
}

// ToolBoundary lets calls through. It is safe for concurrent use; make one per
// process and store.
type ToolBoundary struct {
	store    canonical.Store
	batches  canonical.Batcher // the store, where it takes batches; else nil
	parallel int
	armed    bool // Config.Findings

	redactor     *redact.Redactor // Config.RedactBeforeStore
	captureBytes int64
	authorizer   Authorizer
	effects      EffectPolicy
	limits       canonical.Limits
	quota        canonical.Quota
	codes        *lifecycle.Registry
	log          *zap.Logger
	events       *eventQueue
	onRetained   func(context.Context, Retained)
	now          func() time.Time

	mu       sync.Mutex
	closed   bool
	stopping chan struct{}               // closed by Shutdown
	running  map[*call]struct{}          // admitted or being admitted, not yet ended
	retained map[*retainedEntry]struct{} // not stored and not handed over
	idle     *sync.Cond                  // running or background went down
	cleaning int                         // goroutines that close abandoned admissions
}

// New checks the configuration as a whole and reports every contradiction at
// once, as a [*ConfigError].
func New(c Config) (*ToolBoundary, error) {
	var problems []error
	if c.Store == nil {
		problems = append(problems, errors.New("no Store"))
	}
	if c.Authorizer == nil {
		problems = append(problems, errors.New("no Authorizer; AllowAll must be written out"))
	}
	limits, err := c.Limits.WithDefaults()
	if err != nil {
		problems = append(problems, err)
	}
	if err := c.ScopeQuota.Validate(); err != nil {
		problems = append(problems, err)
	}
	codes, err := lifecycle.NewRegistry(c.Codes)
	if err != nil {
		problems = append(problems, err)
	}
	if c.Parallelism == 0 {
		c.Parallelism = defaultParallelism
	}
	if c.Parallelism < 1 || c.Parallelism > MaxParallelism {
		problems = append(problems, fmt.Errorf("limit Parallelism is %d, not within 1 to %d", c.Parallelism, MaxParallelism))
	}
	if c.CaptureBytes < 0 || c.CaptureBytes > MaxCaptureBytes {
		problems = append(problems, fmt.Errorf("limit CaptureBytes is %d, not within 0 to %d", c.CaptureBytes, int64(MaxCaptureBytes)))
	}
	if c.CaptureBytes > 0 && c.RedactBeforeStore == nil {
		problems = append(problems, errors.New("limit CaptureBytes is of no use without RedactBeforeStore"))
	}
	if len(problems) > 0 {
		return nil, &ConfigError{Problems: problems}
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	b := &ToolBoundary{
		store: c.Store, authorizer: c.Authorizer, effects: c.Effects, limits: limits, quota: c.ScopeQuota, codes: codes,
		log: c.Logger, events: newEventQueue(c.Observer), onRetained: c.OnRetained, now: c.Now,
		parallel: c.Parallelism, armed: c.Findings,
		redactor: c.RedactBeforeStore, captureBytes: c.CaptureBytes,
		stopping: make(chan struct{}), running: map[*call]struct{}{}, retained: map[*retainedEntry]struct{}{},
	}
	b.batches, _ = c.Store.(canonical.Batcher)
	b.idle = sync.NewCond(&b.mu)
	return b, nil
}

// Format prints a name for every verb: what a boundary is made of, its store's
// connection among it, is nobody's to print.
func (b *ToolBoundary) Format(f fmt.State, _ rune) { fmt.Fprint(f, "{tool boundary}") }

// ConfigError lists everything that is wrong with a configuration.
type ConfigError struct{ Problems []error }

// Error lists every problem on one line.
func (e *ConfigError) Error() string {
	return "boundary: configuration: " + oneLine(e.Problems)
}

// Unwrap gives the problems to errors.Is and errors.As.
func (e *ConfigError) Unwrap() []error { return e.Problems }

func oneLine(problems []error) string {
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		texts = append(texts, p.Error())
	}
	return strings.Join(texts, "; ")
}
