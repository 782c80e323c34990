package redisstore

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// birth is what never changes of a record, in its field md.
type birth struct {
	Scope        string               `json:"scope"` // digest
	Run          canonical.RunID      `json:"run"`
	Turn         canonical.Turn       `json:"turn,omitempty"`
	ID           canonical.ToolCallID `json:"id"`
	Tool         string               `json:"tool"`
	Principal    canonical.Principal  `json:"principal"`
	OperationKey string               `json:"operation_key"`
	Size         int64                `json:"request_bytes"`
	SHA256       string               `json:"request_sha256"`
	Redacted     string               `json:"redacted,omitempty"`
}

// end is what is known of an end beside state, code and execution, in the
// record's field fm.
type end struct {
	Evidence evidence.Status `json:"evidence"`
	Stage    canonical.Stage `json:"stage,omitempty"`
	Agent    *descriptor     `json:"agent,omitempty"`
	Facts    *descriptor     `json:"facts,omitempty"`
	Coverage *descriptor     `json:"coverage,omitempty"`
}

func encodeBirth(a canonical.Admission) ([]byte, error) {
	return json.Marshal(birth{
		Scope: a.Run.Scope.Digest(), Run: a.Run.Run, Turn: a.Call.Turn, ID: a.Call.ID, Tool: a.Tool,
		Principal: a.Principal, OperationKey: a.OperationKey, Size: int64(len(a.Request)), SHA256: a.Request.SHA256(), Redacted: a.Redacted,
	}, json.Deterministic(true))
}

func encodeEnd(e end) ([]byte, error) { return json.Marshal(e, json.Deterministic(true)) }

func encodeDescriptor(d descriptor) ([]byte, error) { return json.Marshal(d, json.Deterministic(true)) }

// hash is the fields of a stored hash that are there.
type hash map[string]string

// headFields are read for every view of a record. None of them is a body.
var headFields = [...]string{"v", "st", "sq", "ev", "ef", "ex", "due", "at", "en", "cd", "xe", "md", "fm", "rm", "ac"}

// stored is a decoded record without its bodies.
type stored struct {
	head     canonical.Head // Facts and Coverage not yet read
	raw      *descriptor
	agent    *descriptor
	facts    *descriptor
	coverage *descriptor
	accepted []string // names of payload fields
}

// exists reports whether there is a record.
func (s stored) exists() bool { return s.head.State != "" }

// decodeRecord reads the head fields of a record that was found under the key
// of id. A hash without a state, and the record of another call, is none. The
// error is ErrNewerVersion or ErrCorrupt, bare.
func decodeRecord(id canonical.Identity, h hash) (stored, error) {
	if _, there := h["st"]; !there {
		return stored{}, nil
	}
	var n numbers
	head := canonical.Head{
		Version: int(n.int(h["v"])), Identity: id, State: lifecycle.State(h["st"]), Code: lifecycle.Code(h["cd"]),
		Execution: lifecycle.Execution(h["xe"]), Effect: canonical.Effect(h["ef"]), EvidenceID: canonical.EvidenceID(h["ev"]),
		Strength: evidence.StrengthMemory,
	}
	if h["v"] != "" && (n.bad || head.Version > canonical.SchemaVersion) {
		return stored{}, canonical.ErrNewerVersion // a version that is no number was not written by this one
	}
	head.Seq, head.Created, head.Due, head.Expires = n.int(h["sq"]), n.time(h["at"]), n.time(h["due"]), n.time(h["ex"])
	var b birth
	if n.bad || head.Version < 1 || head.Seq < 1 || !head.State.Valid() || json.Unmarshal([]byte(h["md"]), &b) != nil {
		return stored{}, canonical.ErrCorrupt
	}
	if b.Scope != id.Scope.Digest() || b.Run != id.Run || b.Turn != id.Call.Turn || b.ID != id.Call.ID {
		return stored{}, nil
	}
	head.Tool, head.Principal, head.OperationKey = b.Tool, b.Principal, b.OperationKey
	head.RequestSize, head.RequestSHA256, head.Redacted = b.Size, b.SHA256, b.Redacted
	s := stored{head: head, accepted: strings.Fields(h["ac"])}
	if err := s.decodeRaw(h["rm"]); err != nil {
		return stored{}, err
	}
	if err := s.decodeEnd(h); err != nil {
		return stored{}, err
	}
	return s, nil
}

func (s *stored) decodeRaw(meta string) error {
	if meta == "" {
		return nil
	}
	var d descriptor
	if json.Unmarshal([]byte(meta), &d) != nil || !d.valid() {
		return canonical.ErrCorrupt
	}
	s.raw = &d
	s.head.Raw = canonical.RawInfo{Stored: !d.Absent, Size: d.Size, SHA256: d.SHA256, AtLeast: d.AtLeast, Pieces: d.piecesDigest()}
	return nil
}

// decodeEnd reads the end of a record. A verdict that no record may carry is
// damage, not a new kind of end: a reader must not take it for one.
func (s *stored) decodeEnd(h hash) error {
	if s.head.State == lifecycle.Projecting {
		if h["cd"] != "" || h["xe"] != "" || h["fm"] != "" || h["en"] != "" {
			return canonical.ErrCorrupt
		}
		return nil
	}
	var e end
	var n numbers
	s.head.Ended = n.time(h["en"])
	if n.bad || json.Unmarshal([]byte(h["fm"]), &e) != nil {
		return canonical.ErrCorrupt
	}
	verdict := lifecycle.Completion{State: s.head.State, Code: s.head.Code, Evidence: e.Evidence, Execution: s.head.Execution}
	if verdict.Validate() != nil || (e.Agent != nil) != (s.head.State == lifecycle.Ready) {
		return canonical.ErrCorrupt
	}
	for _, d := range []*descriptor{e.Agent, e.Facts, e.Coverage} {
		if d != nil && (!d.valid() || d.Absent) {
			return canonical.ErrCorrupt
		}
	}
	s.head.Evidence, s.head.Stage = e.Evidence, e.Stage
	s.agent, s.facts, s.coverage = e.Agent, e.Facts, e.Coverage
	if e.Agent != nil {
		s.head.AgentSize, s.head.AgentSHA256 = e.Agent.Size, e.Agent.SHA256
	}
	return nil
}

// version writes the schema that this code writes.
func version() string { return strconv.Itoa(canonical.SchemaVersion) }
