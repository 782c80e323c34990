package remote

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/canonical"
)

// Canonical is the form in which two spellings of one JSON value are equal:
// members in the order of RFC 8785, no space, strings in their shortest spelling.
// Numbers are kept as they were written, digit for digit, where RFC 8785 would
// make doubles of them: 9007199254740993 and 9007199254740992 stay two numbers,
// and so do 1 and 1.0. Members that occur twice, invalid UTF-8 and lone surrogates
// are errors; the error never repeats the text.
func Canonical(text []byte) ([]byte, error) {
	v := jsontext.Value(append([]byte(nil), text...))
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return nil, &FormError{Field: "json", Reason: "is not one JSON value with unique members"}
	}
	return v, nil
}

// Fingerprint is that of a call: "sha256:" and 64 hex digits over the tool's name
// and the canonical form of its arguments.
func Fingerprint(tool string, arguments []byte) (string, error) {
	canonicalForm, err := Canonical(arguments)
	if err != nil {
		return "", err
	}
	return "sha256:" + digest("harness.remote-arguments/1", tool, string(canonicalForm)), nil
}

// RequestID names the call of a local record for the remote side. It is made of
// what the record itself keeps, so that whoever has the record can ask for its
// receipt, in any process, and a second id for one call cannot come about.
func RequestID(packageID string, call canonical.Head) string {
	return requestID(packageID, call.OperationKey)
}

func requestID(packageID, operationKey string) string {
	return digest("harness.remote-request/1", packageID, operationKey)
}

// digest is SHA-256 over length-prefixed parts, the first of which says what for.
func digest(parts ...string) string {
	h := sha256.New()
	var size [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func isDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func isFingerprint(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && isDigest(hex)
}
