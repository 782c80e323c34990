package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"sync"

	"github.com/toolharness/harness/canonical"
)

// Combination says what was done to which message, and where. Section and Fault
// name a row of the table; Script and Place tell its places apart.
type Combination struct {
	Section string `json:"section"`          // "proxy", "server", "kill", ...
	Fault   string `json:"fault"`            // "reply lost", ...
	Script  string `json:"script,omitempty"` // of the store, or the phase of a call
	Place   string `json:"place,omitempty"`  // within the message
}

// Call is one call that met a fault, as its runner saw it.
type Call struct {
	Combination
	Seed uint64 `json:"seed"`           // repeats the injection
	Part int    `json:"part,omitempty"` // above 0: a further call of the same injection

	Base   string `json:"base,omitempty"`   // of all keys of the run; empty where no run was opened
	Name   string `json:"call,omitempty"`   // <turn>:<tool_call_id>; empty where no call was made
	Effect string `json:"effect,omitempty"` // read, write or unknown
	SHA256 string `json:"sha256,omitempty"` // of the bytes that the tool returns when it is entered; empty where it returns none

	Told   string `json:"told"`                   // READY or the code that the model was told; empty where nobody was told
	Ran    string `json:"ran"`                    // no, yes, unknown; empty where nobody was told
	Agent  string `json:"agent_sha256,omitempty"` // of the text of a READY
	Again  string `json:"again,omitempty"`        // what a second call of the same name was told afterwards; empty without one
	Listed bool   `json:"listed"`                 // the run's Unresolved or Outstanding named the call at the end

	Entries int    `json:"entries"`         // of the tool body
	State   string `json:"state,omitempty"` // of the record at the end; empty without one
	Code    string `json:"code,omitempty"`  // of the record at the end

	Retained       string `json:"retained,omitempty"`        // why the host holds the result; empty where it does not
	RetainedSHA256 string `json:"retained_sha256,omitempty"` // of the bytes it holds
	Settled        string `json:"settled,omitempty"`         // what storing them later ended with; "ok" for success

	// Gone says that the injection itself took the record or its run away, or put
	// something else in its place: "expired", "foreign", "server", "put back".
	Gone string `json:"gone,omitempty"`

	// Broken is what the section itself found to be wrong. Anything but the empty
	// text fails the whole report.
	Broken string `json:"broken,omitempty"`
}

// Base is what all keys of a run begin with, under the default prefix.
func Base(run canonical.RunKey) string {
	return "harness:v1:{" + run.Scope.Digest() + ":" + string(run.Run) + "}:"
}

// Digest is the SHA-256 of bytes in hexadecimal digits.
func Digest(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}

// Writer writes lines. It is safe for concurrent use; each line reaches the
// underlying writer in one write. The first error is kept and answered by Err,
// so that a runner need not check every line.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

// NewWriter writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Call writes what became of one call.
func (w *Writer) Call(c Call) {
	w.line(struct {
		Kind string `json:"kind"`
		Call
	}{"call", c})
}

// Plan says how many injections a combination shall have. One that gets fewer
// is printed as not tested.
func (w *Writer) Plan(c Combination, asked int) {
	w.line(struct {
		Kind string `json:"kind"`
		Combination
		Asked int `json:"asked"`
	}{"plan", c, asked})
}

// NotTested says why a combination gets no injections.
func (w *Writer) NotTested(c Combination, reason string) {
	w.line(struct {
		Kind string `json:"kind"`
		Combination
		Reason string `json:"reason"`
	}{"not tested", c, reason})
}

// Append writes whole lines that another Writer made, for a section whose
// injections run on several servers at once and are audited one server at a time.
func (w *Writer) Append(lines []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && len(lines) > 0 {
		_, w.err = w.out.Write(lines)
	}
}

// Err is the first error of any line.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) line(v any) {
	text, err := json.Marshal(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.err == nil {
		_, err = w.out.Write(append(text, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
}

// Enter appends one line to the file of entries: base and name of a call whose
// tool body has just been entered. It returns once the kernel has the line, which
// then outlives the process, and may be called from many processes at once.
func Enter(file, base, name string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(base + " " + name + "\n")
	return err
}
