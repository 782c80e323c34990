package canonical

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Token is the mark of a run's owner and a secret: whoever holds it may admit
// calls and close the run. It prints as a placeholder in every format.
type Token string

// Claim is the mark of one entry into one call, 128 random bits. Only its holder
// can end the record. It prints as a placeholder in every format.
type Claim string

// Digest is the SHA-256 of the token in lower-case hex: what a store keeps, so
// that reading the store does not give the run away.
func (t Token) Digest() string {
	sum := sha256.Sum256([]byte(t))
	return hex.EncodeToString(sum[:])
}

// Format prints a placeholder for every verb.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, "token(hidden)") }

// MarshalText writes the placeholder, so that no JSON log has the token.
func (t Token) MarshalText() ([]byte, error) { return []byte("token(hidden)"), nil }

// Format prints a placeholder for every verb.
func (c Claim) Format(f fmt.State, _ rune) { fmt.Fprint(f, "claim(hidden)") }

// MarshalText writes the placeholder.
func (c Claim) MarshalText() ([]byte, error) { return []byte("claim(hidden)"), nil }

// EvidenceID is the UUID that admission gives to a call's evidence.
type EvidenceID string
