package replay

import (
	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/cmd/harness/internal/conversation"
)

// Document is what was counted, in all and in each file that could be read.
type Document struct {
	Counts
	Files []File `json:"files"`

	// Unread are the files that could not be read, each error with name, reason and, where one is to blame, line.
	Unread []error `json:"-"`
	// Store is where the records were: embedded, redis or local.
	Store string `json:"-"`
	// Kept says what Options.Keep left behind.
	Kept Kept `json:"-"`
}

// Kept is what is left in Redis or a directory.
type Kept struct {
	Keys int
	// LookWith is the command that shows one record; empty where there is none. It has no password; redis-cli reads one
	// from REDISCLI_AUTH.
	LookWith      string
	NeedsPassword bool
}

// OK reports whether every file was read and every ready result came back as it was recorded.
func (d Document) OK() bool { return len(d.Unread) == 0 && d.RawMismatch == 0 }

// File is one file.
type File struct {
	Name string `json:"file"` // as it was given
	Counts
}

// Counts say what became of recorded calls. The package comment defines each.
type Counts struct {
	Calls       int                   `json:"calls"`
	Results     int                   `json:"results"`
	Admitted    int                   `json:"admitted"`
	Ready       int                   `json:"ready"`
	Refused     map[boundary.Code]int `json:"refused"` // never null
	NoID        int                   `json:"no_id"`
	Unanswered  int                   `json:"unanswered"`
	RawBytes    int64                 `json:"raw_bytes"`
	AgentBytes  int64                 `json:"agent_bytes"`
	RawMismatch int                   `json:"raw_mismatch"`

	failed map[boundary.Code]int // admitted and not ready
}

func newCounts() Counts {
	return Counts{Refused: map[boundary.Code]int{}, failed: map[boundary.Code]int{}}
}

// recorded counts what the recording itself says of a call.
func (c *Counts) recorded(call conversation.Call) {
	c.Calls++
	if call.ID == "" {
		c.NoID++
	}
	if call.HasResult {
		c.Results++
	} else {
		c.Unanswered++
	}
}

// outcome counts what the boundary said of it. Without an entry into the tool the call was refused.
func (c *Counts) outcome(call conversation.Call, o boundary.Outcome, entered bool) {
	if !entered {
		c.Refused[o.Code()]++
		return
	}
	c.RawBytes += int64(len(call.Result))
	if o.IsError() {
		c.failed[o.Code()]++
		return
	}
	c.Ready++
	c.AgentBytes += int64(len(o.Text()))
}

func (c *Counts) add(more Counts) {
	c.Calls += more.Calls
	c.Results += more.Results
	c.Admitted += more.Admitted
	c.Ready += more.Ready
	c.NoID += more.NoID
	c.Unanswered += more.Unanswered
	c.RawBytes += more.RawBytes
	c.AgentBytes += more.AgentBytes
	c.RawMismatch += more.RawMismatch
	for code, n := range more.Refused {
		c.Refused[code] += n
	}
	for code, n := range more.failed {
		c.failed[code] += n
	}
}

// sum is how many calls the codes stand for together.
func sum(codes map[boundary.Code]int) int {
	n := 0
	for _, count := range codes {
		n += count
	}
	return n
}
