package lines

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/projector/internal/bounds"
)

// Record is one record of a log.
type Record struct {
	Time     time.Time // zero: the log has none; never fill one in
	Level    string    // as the log spells it; empty: none
	Service  string
	Instance string
	ID       string // by which the log itself can find it again; optional
	Message  string // any bytes
}

// wireRecord is the form of a record in a document.
type wireRecord struct {
	Time     *string `json:"time,omitzero"`
	Level    string  `json:"level,omitempty"`
	Service  string  `json:"service,omitempty"`
	Instance string  `json:"instance,omitempty"`
	ID       string  `json:"id,omitempty"`
	Message  *string `json:"message,omitzero"`
	Base64   *string `json:"message_base64,omitzero"`
}

// encodeRecord keeps every byte of the message; bytes that are no UTF-8 become
// U+FFFD in the short fields.
func encodeRecord(r Record) ([]byte, error) {
	wire := wireRecord{Level: valid(r.Level), Service: valid(r.Service), Instance: valid(r.Instance), ID: valid(r.ID)}
	if !r.Time.IsZero() {
		text, ok := formatTime(r.Time)
		if !ok {
			return nil, errYear
		}
		wire.Time = &text
	}
	if utf8.ValidString(r.Message) {
		wire.Message = &r.Message
	} else {
		encoded := base64.StdEncoding.EncodeToString([]byte(r.Message))
		wire.Base64 = &encoded
	}
	return json.Marshal(wire, json.Deterministic(true))
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// record turns the wire form back; a fault names no value.
func (w wireRecord) record() (Record, error) {
	r := Record{Level: w.Level, Service: w.Service, Instance: w.Instance, ID: w.ID}
	if w.Time != nil {
		var ok bool
		if r.Time, ok = parseTime(*w.Time); !ok {
			return r, &bounds.Fault{Member: "records", Reason: "a time is not RFC 3339"}
		}
	}
	switch {
	case w.Message != nil && w.Base64 == nil:
		r.Message = *w.Message
	case w.Message == nil && w.Base64 != nil:
		content, err := base64.StdEncoding.Strict().DecodeString(*w.Base64)
		if err != nil {
			return r, &bounds.Fault{Member: "records", Reason: "a message marked base64 is not"}
		}
		r.Message = string(content)
	default:
		return r, &bounds.Fault{Member: "records", Reason: "a record has not exactly one message"}
	}
	return r, nil
}

// formatTime writes t in UTC, unless RFC 3339 has no form for its year.
func formatTime(t time.Time) (string, bool) {
	t = t.UTC()
	return t.Format(time.RFC3339Nano), t.Year() >= 0 && t.Year() <= 9999
}

func parseTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC()
	return t, err == nil && t.Year() >= 0 && t.Year() <= 9999
}

// shownTime is t as the model and facts see it.
func shownTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
