package redisstore

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// goldenIdentity is the call of a golden record.
func goldenIdentity(t testing.TB, rest string) canonical.Identity {
	t.Helper()
	call, err := canonical.ParseCallName(strings.TrimPrefix(rest, "call:"))
	if err != nil {
		t.Fatal(err)
	}
	return canonical.Identity{RunKey: canonical.RunKey{Scope: canonical.Scope{Tenant: "acme", Owner: "u1", Namespace: "n"}, Run: "golden"}, Call: call}
}

// goldenRecords reads the hashes of the golden records.
func goldenRecords(t testing.TB) map[string]hash {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/v*/call-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden records: %v", err)
	}
	out := map[string]hash{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g struct {
			Key  string
			Hash hash
		}
		if err := json.Unmarshal(text, &g); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[g.Key] = g.Hash
	}
	return out
}

// encode is the hash that decodes to s: what the scripts write, field by field.
func encode(t testing.TB, s stored) hash {
	t.Helper()
	text := func(v any) string {
		b, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
		if err != nil {
			t.Fatalf("encoding %T: %v", v, err)
		}
		return string(b)
	}
	ms := func(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }
	x := s.head
	h := hash{
		"v": strconv.Itoa(x.Version), "st": string(x.State), "sq": strconv.FormatInt(x.Seq, 10), "ev": string(x.EvidenceID), "ef": string(x.Effect),
		"ex": ms(x.Expires), "due": ms(x.Due), "at": ms(x.Created), "ac": strings.Join(s.accepted, " "),
		"md": text(birth{Scope: x.Identity.Scope.Digest(), Run: x.Identity.Run, Turn: x.Identity.Call.Turn, ID: x.Identity.Call.ID, Tool: x.Tool,
			Principal: x.Principal, OperationKey: x.OperationKey, Size: x.RequestSize, SHA256: x.RequestSHA256}),
	}
	if s.raw != nil {
		h["rm"] = text(*s.raw)
	}
	if x.State.Final() {
		h["en"], h["cd"], h["xe"] = ms(x.Ended), string(x.Code), string(x.Execution)
		h["fm"] = text(end{Evidence: x.Evidence, Stage: x.Stage, Agent: s.agent, Facts: s.facts, Coverage: s.coverage})
	}
	return h
}

// roundTrip decodes h and, where that is a record, encodes and decodes it again.
func roundTrip(t *testing.T, id canonical.Identity, h hash) {
	t.Helper()
	first, err := decodeRecord(id, h)
	if err != nil {
		if err != canonical.ErrCorrupt && err != canonical.ErrNewerVersion {
			t.Fatalf("error %v, want exactly one of the sentinels", err)
		}
		if !reflect.DeepEqual(first, stored{}) {
			t.Fatalf("an error, and still %+v", first)
		}
		return
	}
	if !first.exists() {
		return
	}
	written := encode(t, first)
	second, err := decodeRecord(id, written)
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Fatalf("written again it reads as\n%+v, %v\nwant\n%+v", second, err, first)
	}
	if again := encode(t, second); !reflect.DeepEqual(again, written) {
		t.Fatalf("written twice it is\n%v\nwant\n%v", again, written)
	}
}

func TestCodec_golden_records_are_written_as_they_are_read(t *testing.T) {
	t.Parallel()
	for rest, h := range goldenRecords(t) {
		id := goldenIdentity(t, rest)
		s, err := decodeRecord(id, h)
		if err != nil || !s.exists() {
			t.Fatalf("%s: %+v, %v", rest, s, err)
		}
		for name, got := range encode(t, s) {
			if want := h[name]; got != want {
				t.Errorf("%s: field %s is written as %q, want %q", rest, name, got, want)
			}
		}
	}
}

func TestCodec_damage_is_told(t *testing.T) {
	t.Parallel()
	all := goldenRecords(t)
	change := func(rest string, fields ...string) hash {
		h := hash{}
		for k, v := range all[rest] {
			h[k] = v
		}
		for i := 0; i < len(fields); i += 2 {
			if h[fields[i]] = fields[i+1]; fields[i+1] == "-" {
				delete(h, fields[i])
			}
		}
		return h
	}
	const ready = "call:3:ready"
	other := strings.Replace(all[ready]["md"], `"id":"ready"`, `"id":"other"`, 1)
	for what, c := range map[string]struct {
		h    hash
		want error // nil: no record
	}{
		"nothing":                    {hash{}, nil},
		"no state":                   {change(ready, "st", "-"), nil},
		"another call's record":      {change(ready, "md", other), nil},
		"another run's record":       {change(ready, "md", strings.Replace(all[ready]["md"], `"run":"golden"`, `"run":"r"`, 1)), nil},
		"another scope's record":     {change(ready, "md", strings.Replace(all[ready]["md"], `"scope":"`, `"scope":"0`, 1)), nil},
		"a newer version":            {change(ready, "v", "2"), canonical.ErrNewerVersion},
		"a version far ahead":        {change(ready, "v", "99999999999999999999"), canonical.ErrNewerVersion},
		"a version that is a word":   {change(ready, "v", "next"), canonical.ErrNewerVersion},
		"no version":                 {change(ready, "v", "-"), canonical.ErrCorrupt},
		"version zero":               {change(ready, "v", "0"), canonical.ErrCorrupt},
		"an unknown state":           {change(ready, "st", "DONE"), canonical.ErrCorrupt},
		"an empty state":             {change(ready, "st", ""), canonical.ErrCorrupt},
		"no sequence":                {change(ready, "sq", "-"), canonical.ErrCorrupt},
		"sequence zero":              {change(ready, "sq", "0"), canonical.ErrCorrupt},
		"a time that is none":        {change(ready, "at", "1e12"), canonical.ErrCorrupt},
		"no end time":                {change(ready, "en", "-"), canonical.ErrCorrupt},
		"no metadata":                {change(ready, "md", "-"), canonical.ErrCorrupt},
		"metadata twice":             {change(ready, "md", all[ready]["md"]+all[ready]["md"]), canonical.ErrCorrupt},
		"a member twice":             {change(ready, "md", strings.Replace(all[ready]["md"], `"id":`, `"id":"x","id":`, 1)), canonical.ErrCorrupt},
		"no end":                     {change(ready, "fm", "-"), canonical.ErrCorrupt},
		"READY without agent result": {change(ready, "fm", `{"evidence":"EVIDENCE_FOUND"}`), canonical.ErrCorrupt},
		"READY with evidence ERROR":  {change(ready, "fm", strings.Replace(all[ready]["fm"], "EVIDENCE_FOUND", "ERROR", 1)), canonical.ErrCorrupt},
		"READY with a code":          {change(ready, "cd", "CANCELLED"), canonical.ErrCorrupt},
		"READY that did not run":     {change(ready, "xe", "not_started"), canonical.ErrCorrupt},
		"ERROR without a code":       {change("call::error", "cd", ""), canonical.ErrCorrupt},
		"PROJECTING that has ended":  {change("call::open", "en", "1"), canonical.ErrCorrupt},
		"PROJECTING with a code":     {change("call::open", "cd", "ORPHANED"), canonical.ErrCorrupt},
		"raw that is no descriptor":  {change(ready, "rm", `{"n":-1}`), canonical.ErrCorrupt},
		"agent result absent":        {change(ready, "fm", strings.Replace(all[ready]["fm"], `"agent":{`, `"agent":{"absent":true,`, 1)), canonical.ErrCorrupt},
	} {
		s, err := decodeRecord(goldenIdentity(t, ready), c.h)
		if rest := "call::error"; what == "ERROR without a code" {
			s, err = decodeRecord(goldenIdentity(t, rest), c.h)
		} else if strings.HasPrefix(what, "PROJECTING") {
			s, err = decodeRecord(goldenIdentity(t, "call::open"), c.h)
		}
		if err != c.want || !reflect.DeepEqual(s, stored{}) {
			t.Errorf("%s: %+v, %v; want no record and %v", what, s, err, c.want)
		}
	}
}

func FuzzCodec(f *testing.F) {
	for rest, h := range goldenRecords(f) {
		f.Add(rest, h["v"], h["st"], h["sq"], h["at"], h["en"], h["cd"], h["xe"], h["md"], h["fm"], h["rm"], h["ac"])
	}
	f.Fuzz(func(t *testing.T, rest, v, st, sq, at, en, cd, xe, md, fm, rm, ac string) {
		call, err := canonical.ParseCallName(strings.TrimPrefix(rest, "call:"))
		if err != nil {
			return
		}
		id := goldenIdentity(t, "call::x")
		id.Call = call
		h := hash{"v": v, "st": st, "sq": sq, "at": at, "due": at, "ex": at, "ev": "e", "ef": "read", "md": md, "ac": ac}
		for name, value := range (hash{"en": en, "cd": cd, "xe": xe, "fm": fm, "rm": rm}) {
			if value != "" {
				h[name] = value
			}
		}
		roundTrip(t, id, h)
	})
}

func TestCodec_parameters_of_a_run(t *testing.T) {
	t.Parallel()
	limits, err := canonical.Limits{RecordTTL: 48 * time.Hour, ToolTimeout: 7*time.Second + 1}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	o := canonical.Opening{
		Principal: canonical.Principal{User: "ü\"\\", Account: "\u2028", Agent: "", Connector: "c"}, Duration: 90 * time.Minute,
		Budget: canonical.Budget{Calls: 3, PerTool: canonical.Unlimited, Bytes: 1 << 40}, Limits: limits, Continues: []canonical.RunID{"a", "b"},
	}
	meta, err := encodeParameters(o)
	if err != nil {
		t.Fatal(err)
	}
	var got canonical.RunState
	if err := decodeParameters(string(meta), &got); err != nil {
		t.Fatal(err)
	}
	want := canonical.RunState{Principal: o.Principal, Budget: o.Budget, Limits: o.Limits, Continues: o.Continues}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parameters come back as\n%+v\nwant\n%+v", got, want)
	}
	for _, bad := range []string{"", "{", "[]", `{"budget":{"calls":"x"}}`, string(meta) + "x"} {
		if err := decodeParameters(bad, &got); !errors.Is(err, canonical.ErrCorrupt) {
			t.Errorf("parameters %q: %v, want ErrCorrupt", bad, err)
		}
	}
}

func TestCodec_ledgers(t *testing.T) {
	t.Parallel()
	meta, err := encodeParameters(canonical.Opening{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.UnixMilli(5000).UTC()
	good := []string{"open", "1000", "9000", "20000", "3", "77", string(meta)}
	state, err := decodeLedger(canonical.RunKey{Run: "r"}, now, good)
	if err != nil || state.Phase != canonical.RunOpen || state.Left != 4*time.Second || state.LastSeq != 3 || state.Reserved != 77 || state.Expires.UnixMilli() != 20000 {
		t.Fatalf("ledger = %+v, %v", state, err)
	}
	wrong := map[int]string{0: "ajar", 2: "soon", 3: "", 4: "x", 5: "1.5", 6: "{"}
	for i, bad := range wrong {
		values := append([]string(nil), good...)
		values[i] = bad
		if got, err := decodeLedger(canonical.RunKey{}, now, values); err != canonical.ErrCorrupt || !reflect.DeepEqual(got, canonical.RunState{}) {
			t.Errorf("field %d as %q: %+v, %v; want ErrCorrupt alone", i, bad, got, err)
		}
	}
}

func TestCodec_settlements_that_are_none(t *testing.T) {
	t.Parallel()
	good := `{"state":"READY","evidence":"EVIDENCE_FOUND","execution":"completed"}`
	for what, c := range map[string]struct {
		h    hash
		want error
	}{
		"newer":             {hash{"v": "2"}, canonical.ErrNewerVersion},
		"no version":        {hash{"v": "x"}, canonical.ErrNewerVersion},
		"unknown verdict":   {hash{"v": "1", "rv": "maybe"}, canonical.ErrCorrupt},
		"no JSON":           {hash{"v": "1", "lt": "1", "lm": "{"}, canonical.ErrCorrupt},
		"no time":           {hash{"v": "1", "lm": good}, canonical.ErrCorrupt},
		"impossible ending": {hash{"v": "1", "lt": "1", "lm": `{"state":"PROJECTING"}`}, canonical.ErrCorrupt},
		"bad descriptor":    {hash{"v": "1", "lt": "1", "lm": strings.TrimSuffix(good, "}") + `,"raw":{"n":-1}}`}, canonical.ErrCorrupt},
	} {
		var out canonical.Settlement
		if _, err := decodeSettlement(c.h, &out); err != c.want {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	var out canonical.Settlement
	l, err := decodeSettlement(hash{"v": "1", "lt": "1", "lm": good, "lf": "a b", "rv": "applied", "re": "x"}, &out)
	if err != nil || len(l.accepted) != 2 || out.Late.Verdict != lifecycle.Succeed(evidence.Found) || out.Resolved.Verdict != canonical.Applied {
		t.Errorf("settlement = %+v, %+v, %v", out, l, err)
	}
}
