package remote

import (
	"slices"
	"sync"
	"time"

	"github.com/toolharness/harness/canonical"
)

// InvocationState is what a session knows of one of its calls.
type InvocationState string

// The states. Only Admitted proves that nothing was sent, and only in the process
// that admitted the call. Unknown ends by a receipt and by nothing else.
const (
	StateAdmitted        InvocationState = "admitted"         // the record is acknowledged; nothing was handed to the transport
	StateSubmitted       InvocationState = "submitted"        // handed to the transport; no answer yet
	StateSettled         InvocationState = "settled"          // a receipt says what became of it, and the store here has it
	StateSettledUnstored InvocationState = "settled_unstored" // the receipt is here; the store is not known to have it
	StateUnknown         InvocationState = "unknown"          // submitted, and no receipt says what became of it
)

// invocation is one call in the memory of a session. Fields without a word are set
// once; the rest is under the session's lock.
type invocation struct {
	identity    canonical.Identity
	seq         int64
	tool        string
	effect      canonical.Effect
	principal   canonical.Principal
	evidence    canonical.EvidenceID
	operation   string
	requestSHA  string
	requestID   string
	fingerprint string
	contract    string
	session     string // in which it was or will be submitted
	epoch       string
	bound       bool // it is known that it was submitted in this session and no other

	lane sync.Mutex // reconciling goes one by one

	state       InvocationState
	receipt     *Receipt
	observation *Observed // where Reconcile stored one
	submitted   time.Time
	answered    time.Time
	abandoned   bool // the local call ended before an answer came
}

// Observed says where an observation is kept: the run of its own that holds it.
type Observed struct {
	Run    canonical.RunID `json:"run"`
	SHA256 string          `json:"sha256"`
}

// Invocation is a detached copy of what a session knows of a call. What the proxy
// here saw and what the server said are kept side by side; neither corrects the
// other.
type Invocation struct {
	Identity    canonical.Identity
	Tool        string
	Effect      canonical.Effect
	EvidenceID  canonical.EvidenceID // of the admission record
	RequestID   string
	Fingerprint string
	Session     string
	Epoch       string
	State       InvocationState

	Submitted time.Time // zero: not by this process
	Answered  time.Time // when the last receipt came here
	Abandoned bool      // the local call had ended by then

	Server      *Receipt // the last receipt, without bytes; nil if there is none
	Observation *Observed
	Accounting  string // always Accounting: nothing was charged here
}

// Inspect lists what the session knows of its calls, or of those named. It does no
// I/O; what it gives is the caller's.
func (s *Session) Inspect(calls ...canonical.CallName) []Invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Invocation
	for _, id := range s.order {
		if len(calls) > 0 && !slices.Contains(calls, id.Call) {
			continue
		}
		list = append(list, s.calls[id].view())
	}
	return list
}

// view is a copy. The caller holds the session's lock.
func (i *invocation) view() Invocation {
	v := Invocation{
		Identity: i.identity, Tool: i.tool, Effect: i.effect, EvidenceID: i.evidence, RequestID: i.requestID,
		Fingerprint: i.fingerprint, Session: i.session, Epoch: i.epoch, State: i.state, Submitted: i.submitted,
		Answered: i.answered, Abandoned: i.abandoned, Accounting: Accounting,
	}
	if i.receipt != nil {
		r := i.receipt.withoutInline()
		if r.Content != nil && r.Content.Reference != nil {
			ref := *r.Content.Reference
			r.Content.Reference = &ref
		}
		v.Server = &r
	}
	if i.observation != nil {
		o := *i.observation
		v.Observation = &o
	}
	return v
}

// remember keeps an invocation. Settled ones make room, for their records answer for
// them; others never do. The caller holds the lock.
func (s *Session) remember(inv *invocation) bool {
	if len(s.order) >= MaxInvocations {
		at := slices.IndexFunc(s.order, func(id canonical.Identity) bool { return s.calls[id].state == StateSettled })
		if at < 0 {
			return false
		}
		delete(s.calls, s.order[at])
		s.order = slices.Delete(s.order, at, at+1)
	}
	s.calls[inv.identity] = inv
	s.order = append(s.order, inv.identity)
	return true
}
