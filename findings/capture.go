package findings

import (
	"encoding/hex"
	"slices"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// Capture is what a host knows when a response was accepted: the results that
// stood in the request which produced it, what the host itself says of them, and
// the records that it read. The request is the one that was answered, after
// retries, fallbacks and every rewrite that was reported (F06).
type Capture struct {
	Run       canonical.RunKey
	Continues []canonical.RunID // earlier runs of the conversation, same scope, whose results may be cited
	Served    []Served          // in the order of the request
	Marks     []Mark            // of the results that the host put into it, in any order
	Records   []Record          // one for each call that was looked up, in any order

	// Incomplete says that the provider keeps a part of the conversation that is
	// not in Served. What was served is then not known, and nothing is admitted.
	Incomplete bool
}

// Served is one result as it stood in the request that was sent. Package wire
// reads them.
type Served struct {
	ID string // exact; an empty one cannot be cited and counts for nothing (F42)

	// Texts are digests ([TextDigest]) of the text of the result; several where
	// the wire has more than one way to hold it, none where it is not text alone.
	Texts []string
}

// Mark is what the host says of one result that it put into a request. It
// travels in the host's own structures, beside the message, and is never read
// from what a message says (F10).
type Mark struct {
	Call     canonical.Identity
	Dispatch Dispatch
	Text     string // TextDigest of the recorded text; empty where it is not known
	Ticket   Ticket // where a ticket was served in its place
}

// TextDigest is the SHA-256 of a text, in lower-case hex.
func TextDigest(text []byte) string { return canonical.Body(text).SHA256() }

// MarkExecuted marks the result of a call whose body was entered. text is what
// the model is to get: Outcome.Text().
func MarkExecuted(call canonical.Identity, text string) Mark {
	return Mark{Call: call, Dispatch: Executed, Text: TextDigest([]byte(text))}
}

// MarkNotDispatched marks a notice that stands in place of a result: a refusal,
// or the settlement of a call that was never made (F43).
func MarkNotDispatched(call canonical.Identity, text string) Mark {
	return Mark{Call: call, Dispatch: NotDispatched, Text: TextDigest([]byte(text))}
}

// Withheld is the mark of the same result when t is served instead of its text.
func (m Mark) Withheld(t Ticket) Mark {
	m.Ticket = t
	return m
}

// Record is what a host read of one call's record: small, and without any result.
type Record struct {
	Call       canonical.Identity
	State      lifecycle.State   // empty: missing, expired or another's; the three look alike
	Status     evidence.Status   // Found or None when READY
	Coverage   evidence.Coverage // of NO_EVIDENCE
	Unreadable bool              // there, but of a newer version, foreign or corrupt
}

// RecordOf is the view of a head that was read for call. A head that is not
// call's, and a NO_EVIDENCE without a coverage that could carry it, are
// unreadable: they must not back anything.
func RecordOf(call canonical.Identity, h canonical.Head) Record {
	r := Record{Call: call, State: h.State}
	switch {
	case h.Fault != nil, h.Exists() && (h.Identity != call || !h.State.Valid()):
		return Record{Call: call, Unreadable: true}
	case h.State != lifecycle.Ready:
		return r
	}
	r.Status = h.Evidence
	if h.Evidence == evidence.None {
		coverage, err := evidence.DecodeCoverage(h.Coverage)
		if err != nil {
			return Record{Call: call, Unreadable: true}
		}
		r.Coverage = coverage
	}
	if r.checkState() != "" {
		return Record{Call: call, Unreadable: true}
	}
	return r
}

// check is the rule that a record breaks.
func (r Record) check() string {
	if r.Call.Validate() != nil || r.Call.Call.Validate() != nil {
		return "the name of the call is not valid"
	}
	return r.checkState()
}

func (r Record) checkState() string {
	switch {
	case r.Unreadable && (r.State != "" || r.Status != ""):
		return "unreadable, and yet it says something"
	case r.State != "" && !r.State.Valid():
		return "not a state"
	case r.State == lifecycle.Ready && !r.Status.Observed():
		return "READY needs EVIDENCE_FOUND or NO_EVIDENCE"
	case r.State != lifecycle.Ready && r.Status.Observed():
		return "only READY has observed something"
	case r.Status != "" && !r.Status.Valid():
		return "not a status"
	case r.State == lifecycle.Ready && r.Status == evidence.None && r.Coverage.ValidateAbsence() != nil:
		return "NO_EVIDENCE needs a coverage that ran to its end"
	}
	return ""
}

func (m Mark) check() string {
	switch {
	case m.Call.Validate() != nil || m.Call.Call.Validate() != nil:
		return "the name of the call is not valid"
	case m.Dispatch != "" && m.Dispatch != Executed && m.Dispatch != NotDispatched:
		return "the dispatch is neither executed nor not_dispatched"
	case m.Text != "" && !isDigest(m.Text):
		return "the text is not a SHA-256 in lower-case hex"
	}
	return ""
}

// check reports the first thing that the host got wrong.
func (c Capture) check() error {
	if c.Run.Validate() != nil {
		return &CaptureError{Field: "run", Reason: "scope or run id is not valid"}
	}
	for i, run := range c.Continues {
		if _, err := canonical.ParseRunID(string(run)); err != nil {
			return &CaptureError{Field: "continues", Index: i, Reason: "not a run id"}
		}
	}
	for i, m := range c.Marks {
		if reason := m.check(); reason != "" {
			return &CaptureError{Field: "marks", Index: i, Reason: reason}
		}
	}
	seen := make(map[canonical.Identity]bool, len(c.Records))
	for i, r := range c.Records {
		if reason := r.check(); reason != "" {
			return &CaptureError{Field: "records", Index: i, Reason: reason}
		}
		if seen[r.Call] {
			return &CaptureError{Field: "records", Index: i, Reason: "the call has two"}
		}
		seen[r.Call] = true
	}
	return nil
}

// overflows reports whether a bound is crossed. Settlement notices and ids that
// can never be cited count, too: the bound is on what has to be kept in mind.
func (c Capture) overflows() bool {
	characters := 0
	served := make(map[string]bool)
	for _, s := range c.Served {
		if s.ID == "" {
			continue
		}
		served[s.ID] = true
		characters += utf8.RuneCountInString(s.ID)
	}
	marked := make(map[canonical.ToolCallID]bool)
	for _, m := range c.Marks {
		marked[m.Call.Call.ID] = true
		characters += len(m.Call.Call.ID) // ASCII
	}
	return len(served) > MaxResults || len(marked) > MaxResults || characters > MaxIDCharacters
}

// allows reports whether results of that run may be cited.
func (c Capture) allows(call canonical.Identity) bool {
	return call.Scope == c.Run.Scope && (call.Run == c.Run.Run || slices.Contains(c.Continues, call.Run))
}

func isDigest(text string) bool { return isHex(text, 32) }

// isHex reports whether text is that many bytes in lower-case hex.
func isHex(text string, bytes int) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == bytes && hex.EncodeToString(raw) == text
}
