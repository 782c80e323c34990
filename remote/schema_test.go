package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/remotetest"
)

// schemas are the files beside the page; each says of itself what it is for.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	files, err := filepath.Glob("testdata/schemas/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	all := map[string]*jsonschema.Schema{}
	for _, file := range files {
		s, err := jsonschema.NewCompiler().Compile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = s
	}
	return all
}

func fits(t *testing.T, all map[string]*jsonschema.Schema, name string, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if all[name] == nil {
		t.Fatalf("no schema %s", name)
	}
	return all[name].Validate(value)
}

func schemaOf(f frame) string {
	switch {
	case f.dir == remotetest.Refusal:
		return "refusal"
	case f.dir == remotetest.Answer && (f.method == remote.MethodExecute || f.method == remote.MethodGetReceipt):
		return "receipt"
	case f.dir == remotetest.Answer:
		return string(f.method) + "_response"
	}
	return string(f.method) + "_request"
}

// Everything that both ends send in a session with every kind of ending fits its
// schema, and nothing fits it that has a member more, or one less that is required.
func TestR02_R51_schemas_are_what_is_sent(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) {
		c.Authorize = func(_ context.Context, _ remote.Caller, op remote.Operation) error {
			if op.Tool == "null" && op.Method == remote.MethodExecute {
				return context.Canceled
			}
			return nil
		}
	}})
	for i, tool := range []string{"lookup", "pay", "decline", "mystery", "empty", "bytes", "broken", "bounce", "null"} {
		r.call(fmt.Sprintf("c%d", i), tool, `{"a":1}`)
	}
	r.call("big", "big", `{"n":70000}`)
	go func() { <-r.bench.started; _, _ = r.session.Cancel(context.Background(), r.run.ID(), name("slow")) }()
	r.call("slow", "slow", `{}`)
	if _, err := r.reconcile("slow"); err == nil {
		t.Error("a cancelled write is known")
	}
	if _, err := r.reconcile("c0"); err != nil {
		t.Error(err)
	}
	seen := map[string]int{}
	for _, f := range r.frames {
		which := schemaOf(f)
		seen[which]++
		if err := fits(t, all, which, f.text); err != nil {
			t.Errorf("%s: %v\n%.300s", which, err, f.text)
		}
		if seen[which] == 1 {
			tight(t, all, which, f.text)
		}
	}
	kept, err := r.session.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	observation, _, _ := bytes.Cut(r.record("c0").Raw.Bytes, []byte("\n"))
	for which, text := range map[string][]byte{"checkpoint": kept, "observation": observation, "package": r.server.Package()} {
		seen[which]++
		if err := fits(t, all, which, text); err != nil {
			t.Errorf("%s: %v\n%.300s", which, err, text)
		}
		tight(t, all, which, text)
	}
	seen["problem"]++ // of package httptransport, checked there
	for which := range all {
		if seen[which] == 0 {
			t.Errorf("nothing was sent for schema %s", which)
		}
	}
}

// tight checks that a schema is no looser than its message.
func tight(t *testing.T, all map[string]*jsonschema.Schema, which string, text []byte) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	encode := func(m map[string]json.RawMessage) []byte {
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	members["x_more"] = json.RawMessage("1")
	if fits(t, all, which, encode(members)) == nil {
		t.Errorf("%s: a member more fits", which)
	}
	delete(members, "x_more")
	for name, value := range members {
		members[name] = json.RawMessage(`{"wrong":["type"]}`)
		if fits(t, all, which, encode(members)) == nil {
			t.Errorf("%s: %s may be anything", which, name)
		}
		members[name] = value
	}
}

// The page names every message, field, limit and error that the code has.
func TestR51_R54_page_is_complete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/remote-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var words []string
	for _, m := range remote.Methods() {
		words = append(words, "## "+string(m))
	}
	for _, c := range remote.Codes() {
		words = append(words, "| `"+string(c)+"` |", c.Text())
	}
	for _, message := range []any{remote.NegotiateRequest{}, remote.NegotiateResponse{}, remote.OfferedTool{}, remote.ServerLimits{}, remote.ExecuteRequest{},
		remote.ReceiptRequest{}, remote.CancelRequest{}, remote.CancelResponse{}, remote.EvidenceRequest{}, remote.EvidenceResponse{}, remote.Receipt{},
		remote.Content{}, remote.ProtocolError{}, remote.Package{}, remote.PackageTool{}, remote.Observation{}, remote.AdmissionPointer{}, remote.ProxySaw{}, remote.PayloadNote{}} {
		kind := reflect.TypeOf(message)
		for i := range kind.NumField() {
			if tag, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ","); tag != "" {
				words = append(words, "`"+tag+"`")
			}
		}
	}
	for _, n := range []int{remote.MaxName, remote.MaxCode, remote.MaxMessage, remote.MaxTools, remote.MaxPackage, remote.MaxArguments, remote.DefaultInlineBytes,
		remote.MaxInlineBytes, remote.DefaultChunkBytes, remote.MaxChunkBytes, remote.MaxRequests, remote.MaxMessageBytes} {
		words = append(words, grouped(n))
	}
	for _, s := range []remote.ReceiptState{remote.Running, remote.Settled, remote.SettledUnstored, remote.Unsettled} {
		words = append(words, "`"+string(s)+"`")
	}
	words = append(words, remote.Protocol, remote.PackageSchema, remote.ObservationSchema, remote.SourceSchema, remote.CheckpointSchema, remote.CodeNotAdmitted, remote.Accounting)
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not name %s", w)
		}
	}
}

// grouped writes 1000000 as 1,000,000.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
