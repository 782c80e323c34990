package replay

import (
	"context"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// Parallel is how many conversations of a file are replayed at once. The calls of one follow each other.
const Parallel = 4

// Limits of time that no call of a replay comes near, so that a slow machine or server changes no count.
const (
	patience        = 6 * time.Hour // of a whole conversation
	projectionLimit = time.Minute
	closingLimit    = 30 * time.Second
)

// Options say what is replayed and where the records are kept meanwhile.
type Options struct {
	// Files are read one after the other. One that is named twice is replayed twice.
	Files []string
	// Turns sets the turn of each call to the index of its message, so that an id may occur again in a later one.
	Turns bool
	// Redis is the address of one server: redis://, rediss:// or unix://. Empty: the embedded store.
	Redis string
	// Data is the directory of a local store, in which the records stay until they expire.
	Data string
	// Keep leaves the records in Redis until they expire. It needs an address, since the embedded store ends with the
	// replay.
	Keep bool

	// What tests replace, to see that a difference is told.
	executor      func(boundary.Executor) boundary.Executor
	beforeReading func(context.Context, canonical.RunKey)
}

func (o Options) withDefaults() Options {
	o.Keep = o.Keep || o.Data != ""
	if o.executor == nil {
		o.executor = func(x boundary.Executor) boundary.Executor { return x }
	}
	if o.beforeReading == nil {
		o.beforeReading = func(context.Context, canonical.RunKey) {}
	}
	return o
}

func (o Options) check() error {
	switch {
	case len(o.Files) == 0:
		return &OptionError{Reason: "no file is named"}
	case o.Redis != "" && o.Data != "":
		return &OptionError{Reason: "a Redis and a directory are named, records are in one of them"}
	case o.Keep && o.Redis == "" && o.Data == "":
		return &OptionError{Reason: "records can be kept only in a Redis or a directory that is named"}
	}
	return nil
}

// OptionError says why nothing can be replayed with these options. It repeats no part of an address, which may hold a
// password.
type OptionError struct{ Reason string }

// Error gives the reason.
func (e *OptionError) Error() string { return "replay: " + e.Reason }
