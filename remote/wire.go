package remote

import (
	"github.com/go-json-experiment/json"
)

// message is what may stand on the wire.
type message interface {
	NegotiateRequest | NegotiateResponse | ExecuteRequest | Receipt | ReceiptRequest | CancelRequest | CancelResponse |
		EvidenceRequest | EvidenceResponse | ProtocolError | Package
}

// Encode writes a message as transports send it: one JSON object, members in a
// fixed order. It checks the form first, so that no end sends what the other
// would refuse.
func Encode[M message](m M) ([]byte, error) {
	if err := check(m); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil, &FormError{Field: "message", Reason: "cannot be written"}
	}
	return text, nil
}

// Decode reads a message strictly: one object, exactly the members of the message
// in exactly their spelling, none twice, right types, valid UTF-8, inside the
// limits, nothing behind it. The error is a [*FormError] and repeats nothing.
func Decode[M message](text []byte) (M, error) {
	var m M
	if limit := sizeLimit(m); len(text) > limit {
		return m, &FormError{Field: "message", Reason: "is too large", Size: int64(len(text)), Limit: int64(limit)}
	}
	if err := json.Unmarshal(text, &m, json.RejectUnknownMembers(true)); err != nil {
		var none M
		return none, &FormError{Field: "message", Reason: "is not one JSON object with the members of this message"}
	}
	if err := check(m); err != nil {
		var none M
		return none, err
	}
	return m, nil
}

func sizeLimit[M message](m M) int {
	if _, ok := any(m).(Package); ok {
		return MaxPackage
	}
	return maxMessageBytes
}

// MaxMessageBytes is the size of the largest encoded message, packages excepted:
// what a transport must be able to carry, and more than which it need not read.
const MaxMessageBytes = maxMessageBytes
