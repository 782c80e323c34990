package remote_test

import (
	"bytes"
	"testing"

	"github.com/toolharness/harness/remote"
)

// Whatever arrives is refused, or is a message that is written as it was read.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"protocol":"harness.tool-outcomes/1","session":"s","epoch":"e","request_id":"r"}`,
		`{"code":"internal","message":"The other end failed.","admitted":"no","request_id":"r"}`,
		`{"protocol":"harness.tool-outcomes/1","session":"s","epoch":"e","request_id":"r","tool":"t","effect":"write","fingerprint":"sha256:0000000000000000000000000000000000000000000000000000000000000000","state":"settled","execution":"completed","applied":"yes","has_result":true,"content":{"bytes":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","inline":""},"source_acked":true,"accounting":"external_unknown"}`,
		`{"a":1,"a":2}`, "null", "[]", "{", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		stable(t, text, remote.Decode[remote.Receipt], remote.Encode[remote.Receipt])
		stable(t, text, remote.Decode[remote.CancelRequest], remote.Encode[remote.CancelRequest])
		stable(t, text, remote.Decode[remote.ProtocolError], remote.Encode[remote.ProtocolError])
		stable(t, text, remote.Decode[remote.ExecuteRequest], remote.Encode[remote.ExecuteRequest])
		stable(t, text, remote.ParsePackage, remote.Encode[remote.Package])
		if o, payload, err := remote.DecodeObservation(text); err == nil && o.Payload.Present != (payload != nil) {
			t.Error("a payload that is there and not there")
		}
		one, err := remote.Canonical(text)
		if err != nil {
			return
		}
		two, err := remote.Canonical(one)
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("the canonical form of %q is not its own: %q", one, two)
		}
	})
}

func stable[M any](t *testing.T, text []byte, decode func([]byte) (M, error), encode func(M) ([]byte, error)) {
	t.Helper()
	m, err := decode(text)
	if err != nil {
		return
	}
	once, err := encode(m)
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	again, err := decode(once)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	if twice, err := encode(again); err != nil || !bytes.Equal(once, twice) {
		t.Fatalf("%q became %q, %v", once, twice, err)
	}
}
