package evidence_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
)

// The JSON form of a reference is stored and sent; its names are a contract.
func TestReferenceForm(t *testing.T) {
	t.Parallel()
	r := evidence.Reference{
		Version: evidence.ReferenceVersion, EvidenceID: "e", RunID: "r", Turn: "1", ToolCallID: "call_1",
		SHA256: strings.Repeat("a", 64), Bytes: 9007199254740993, Pieces: "p", Strength: evidence.StrengthMemory,
	}
	want := `{"version":1,"evidence_id":"e","run_id":"r","turn":"1","tool_call_id":"call_1","sha256":"` + r.SHA256 +
		`","bytes":9007199254740993,"pieces":"p","strength":"memory"}`
	encoded, err := json.Marshal(r)
	if err != nil || string(encoded) != want {
		t.Fatalf("reference = %s, %v; want %s", encoded, err, want)
	}
	var back evidence.Reference
	if err := json.Unmarshal(encoded, &back); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("came back as %+v, %v; want %+v", back, err, r)
	}
	r.Turn, r.Pieces = "", ""
	if encoded, _ := json.Marshal(r); strings.Contains(string(encoded), "turn") || strings.Contains(string(encoded), "pieces") {
		t.Errorf("reference = %s, want no turn and no pieces", encoded)
	}
}
