package checker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/faults/checker"
	"github.com/toolharness/harness/internal/redistest"
)

// world is a report, a file of entries and the contents of a server, written by
// hand: nothing of those who inject faults is used here.
type world struct {
	t       *testing.T
	server  *redistest.Process
	line    map[string]any // the one call
	extra   []string       // further lines of the report
	entries []string
	hashes  map[string]map[string]any
	sets    map[string]map[string]float64
	expiry  map[string]int64 // other than the usual; 0 for none
	texts   map[string]string
	scope   map[string]float64 // the list of runs, without an expiry
	quota   map[string]any     // of the scope, with one reservation for run-1
	noAudit bool
}

const (
	base = "harness:v1:{0123456789abcdef0123456789abcdef:run-1}:"
	name = ":call_1"
	raw  = "what the tool returned"
	seen = `{"what":"the model read"}`
)

var ends = time.Now().Add(24 * time.Hour).UnixMilli()

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ready is a world in which one read went through and nothing is wrong.
func ready(t *testing.T, server *redistest.Process) *world {
	rawField, agentField := "raw:claim:"+digest(raw)[:16], "ag:claim:"+digest(seen)[:16]
	return &world{
		t: t, server: server,
		line: map[string]any{
			"kind": "call", "section": "wire", "fault": "reply lost", "script": "complete", "place": "after", "seed": 7,
			"base": base, "call": name, "effect": "read", "sha256": digest(raw), "told": "READY", "ran": "yes",
			"agent_sha256": digest(seen), "again": "DUPLICATE_TOOL_CALL", "listed": false, "entries": 1, "state": "READY", "code": "",
		},
		extra:   []string{`{"kind":"plan","section":"wire","fault":"reply lost","script":"complete","place":"after","asked":1}`},
		entries: []string{base + " " + name},
		hashes: map[string]map[string]any{
			"run": {"v": 1, "st": "open", "ex": ends, "sq": 1, "rs": 100, "u:probe": 1, "c:" + name: 1, "e:id": name},
			"call:" + name: {"v": 1, "st": "READY", "cl": "claim", "ex": ends, "rs": 100, "cd": "", "xe": "completed", "ef": "read",
				"ac": rawField + " " + agentField, rawField: raw, agentField: seen},
		},
		sets:   map[string]map[string]float64{"order": {name: 1}},
		expiry: map[string]int64{},
		texts:  map[string]string{},
	}
}

func (w *world) record() map[string]any { return w.hashes["call:"+name] }
func (w *world) ledger() map[string]any { return w.hashes["run"] }

// drop takes fields of a kind out of the record, and their names.
func (w *world) drop(kinds ...string) {
	for _, kind := range kinds {
		var kept []string
		for _, field := range strings.Fields(w.record()["ac"].(string)) {
			if strings.HasPrefix(field, kind+":") {
				delete(w.record(), field)
			} else {
				kept = append(kept, field)
			}
		}
		w.record()["ac"] = strings.Join(kept, " ")
	}
}

// unfinished turns the call into one that is still open.
func (w *world) unfinished() {
	w.drop("raw", "ag")
	w.record()["st"], w.record()["xe"] = "PROJECTING", ""
	delete(w.record(), "xe")
	w.sets["open"] = map[string]float64{name: 1000}
	w.line["state"], w.line["listed"] = "PROJECTING", true
}

// killed turns it into one of a process that died in its tool.
func (w *world) killed() {
	w.unfinished()
	w.line["told"], w.line["ran"], w.line["agent_sha256"] = "", "", ""
}

// notStored turns it into one whose end could not be stored.
func (w *world) notStored() {
	w.unfinished()
	w.line["told"], w.line["agent_sha256"] = "RESULT_NOT_STORED", ""
	w.line["retained"], w.line["retained_sha256"] = "not_stored", digest(raw)
}

// unknownWrite turns it into a write of which nobody knows the outcome.
func (w *world) unknownWrite() {
	w.drop("raw", "ag")
	r := w.record()
	r["st"], r["cd"], r["xe"], r["ef"] = "ERROR", "OUTCOME_UNKNOWN", "unknown", "write"
	w.sets["effects"] = map[string]float64{name: 0}
	w.line["told"], w.line["ran"], w.line["agent_sha256"], w.line["sha256"] = "OUTCOME_UNKNOWN", "unknown", "", ""
	w.line["state"], w.line["code"], w.line["effect"], w.line["listed"] = "ERROR", "OUTCOME_UNKNOWN", "write", true
}

// fill puts the contents on the server.
func (w *world) fill() {
	w.t.Helper()
	ctx, c := w.t.Context(), w.server.Client()
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushAll(ctx)
		var keys []string
		for part, fields := range w.hashes {
			p.HSet(ctx, base+part, fields)
			keys = append(keys, part)
		}
		for part, members := range w.sets {
			for member, score := range members {
				p.ZAdd(ctx, base+part, redis.Z{Score: score, Member: member})
			}
			keys = append(keys, part)
		}
		for _, part := range keys {
			at, other := w.expiry[part]
			if !other {
				at = ends
			}
			if at > 0 {
				p.PExpireAt(ctx, base+part, time.UnixMilli(at))
			}
		}
		for run, at := range w.scope {
			p.ZAdd(ctx, "harness:v1:{0123456789abcdef0123456789abcdef}:runs", redis.Z{Score: at, Member: run})
		}
		if w.quota != nil {
			of := "harness:v1:{0123456789abcdef0123456789abcdef}:"
			p.ZAdd(ctx, of+"held", redis.Z{Score: float64(ends), Member: "run-1:mark"})
			p.HSet(ctx, of+"quota", w.quota)
			p.PExpireAt(ctx, of+"held", time.UnixMilli(ends))
			p.PExpireAt(ctx, of+"quota", time.UnixMilli(ends))
		}
		for key, text := range w.texts {
			p.Set(ctx, key, text, time.Hour)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// files writes report and entries.
func (w *world) files() (report, entries string) {
	w.t.Helper()
	line, err := json.Marshal(w.line)
	if err != nil {
		w.t.Fatal(err)
	}
	dir := w.t.TempDir()
	report, entries = filepath.Join(dir, "report"), filepath.Join(dir, "entries")
	text := ""
	if w.line != nil {
		text = string(line) + "\n"
	}
	for _, extra := range w.extra {
		text += extra + "\n"
	}
	for path, content := range map[string]string{report: text, entries: strings.Join(append(w.entries, ""), "\n")} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return report, entries
}

// check runs the checker over the world.
func (w *world) check() (*checker.Result, error) {
	w.t.Helper()
	w.fill()
	c := checker.New(w.files())
	if !w.noAudit {
		if err := c.Audit(w.t.Context(), w.server.Addr()); err != nil {
			return nil, err
		}
	}
	return c.Finish()
}

// notStoredLine makes the line, and only the line, that of a call whose record
// has gone.
func (w *world) notStoredLine() {
	w.line["told"], w.line["agent_sha256"], w.line["gone"], w.line["state"] = "RECORD_EXPIRED", "", "expired", ""
	w.line["retained"], w.line["retained_sha256"] = "expired", digest(raw)
}

// twice writes the line of the call a second time.
func (w *world) twice() {
	w.t.Helper()
	text, err := json.Marshal(w.line)
	if err != nil {
		w.t.Fatal(err)
	}
	w.extra = append(w.extra, string(text))
}
