package evidence

// ReferenceVersion is the version that this package writes.
const ReferenceVersion = 1

// Strength is what was known of a write's durability when its reference was
// made: how much may break before the record is lost.
type Strength string

// The strengths. A store that waited for replicas reports "replicas:n" with their
// number.
const (
	// StrengthMemory: acknowledged by one server's memory.
	StrengthMemory Strength = "memory"
	// StrengthFsync: on the disk of one machine before it was acknowledged.
	StrengthFsync Strength = "fsync"
)

// Reference names one stored result. It identifies and lets bytes be checked;
// it grants nothing. Whoever presents one is authorized anew, and a reference
// of somebody else's run looks exactly like a missing one.
type Reference struct {
	Version    int      `json:"version"`
	EvidenceID string   `json:"evidence_id"` // a UUID, made once by admission
	RunID      string   `json:"run_id"`
	Turn       string   `json:"turn,omitempty"`
	ToolCallID string   `json:"tool_call_id"`
	SHA256     string   `json:"sha256"`           // of the whole raw result, lower-case hex
	Bytes      int64    `json:"bytes"`            // size of the raw result
	Pieces     string   `json:"pieces,omitempty"` // digest over the list of pieces, where stored in several
	Strength   Strength `json:"strength"`
}
