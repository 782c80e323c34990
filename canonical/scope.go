package canonical

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"unicode/utf8"
)

// MaxScopeField bounds each field of a scope and of a principal, in bytes.
const MaxScopeField = 256

// Scope says to whom a run belongs. Three separate exact strings set by the
// host, never taken from a model's arguments. It enters keys only as a digest.
type Scope struct {
	Tenant    string `json:"tenant"`
	Owner     string `json:"owner"`
	Namespace string `json:"namespace"`
}

// Validate checks that the fields are valid UTF-8 inside [MaxScopeField], and
// that not all three are empty: there is no default scope.
func (s Scope) Validate() error {
	if s == (Scope{}) {
		return &NameError{Field: "scope", Reason: "empty; there is no default scope"}
	}
	return checkFields([]field{{"scope.tenant", s.Tenant}, {"scope.owner", s.Owner}, {"scope.namespace", s.Namespace}})
}

// Digest is the first 128 bits of SHA-256 over the length-prefixed fields, in
// lower-case hex. Length prefixes keep ("ab","c") and ("a","bc") apart.
func (s Scope) Digest() string {
	var room [3 * (8 + MaxScopeField)]byte // so that it stays on the stack: a store asks for it with every message
	text := appendField(appendField(appendField(room[:0], s.Tenant), s.Owner), s.Namespace)
	return sumText(sha256.Sum256(text))[:2*16]
}

// Principal says on whose behalf a run acts. Trusted host input, kept in every
// record of the run; any field may be empty.
type Principal struct {
	User      string `json:"user,omitempty"`
	Account   string `json:"account,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Connector string `json:"connector,omitempty"`
}

// Validate checks that the fields are valid UTF-8 inside [MaxScopeField].
func (p Principal) Validate() error {
	return checkFields([]field{{"principal.user", p.User}, {"principal.account", p.Account},
		{"principal.agent", p.Agent}, {"principal.connector", p.Connector}})
}

// RunKey locates a run in a store: a run id means nothing without its scope.
type RunKey struct {
	Scope Scope
	Run   RunID
}

// Validate checks scope and run id.
func (k RunKey) Validate() error {
	if err := k.Scope.Validate(); err != nil {
		return err
	}
	_, err := ParseRunID(string(k.Run))
	return err
}

// Identity names one call among all runs of all scopes. It is comparable.
type Identity struct {
	RunKey
	Call CallName
}

// OperationKey is a digest of scope, run, call name and request bytes, in
// lower-case hex. It is equal wherever the same call is delivered again and
// differs for other bytes, so an executor may hand it to an outside service as
// an idempotency key.
func (id Identity) OperationKey(request []byte) string {
	parts := [...]string{id.Scope.Tenant, id.Scope.Owner, id.Scope.Namespace, string(id.Run), string(id.Call.Turn), string(id.Call.ID)}
	size := 8 * (len(parts) + 1)
	for _, part := range parts {
		size += len(part)
	}
	text := make([]byte, 0, size+len(request))
	for _, part := range parts {
		text = appendField(text, part)
	}
	return sumText(sha256.Sum256(appendField(text, request)))
}

// sumText is a digest in lower-case hex.
func sumText(sum [sha256.Size]byte) string {
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

type field struct{ name, text string }

func checkFields(fields []field) error {
	for _, f := range fields {
		if len(f.text) > MaxScopeField {
			return &NameError{Field: f.name, Reason: "too long in bytes", Size: len(f.text), Limit: MaxScopeField}
		}
		if !utf8.ValidString(f.text) {
			return &NameError{Field: f.name, Reason: "not valid UTF-8"}
		}
	}
	return nil
}

// appendField appends a field with its length before it.
func appendField[T string | []byte](to []byte, field T) []byte {
	return append(binary.BigEndian.AppendUint64(to, uint64(len(field))), field...)
}
