package checker_test

import (
	"os"
	"strings"
	"testing"

	"github.com/toolharness/harness/faults/checker"
	"github.com/toolharness/harness/internal/redistest"
)

func TestChecker_accepts_what_is_right(t *testing.T) {
	server := redistest.Server(t)
	for _, c := range []struct {
		name    string
		change  func(*world)
		unknown int
	}{
		{"READY", func(*world) {}, 0},
		{"under a quota", func(w *world) { w.quota = map[string]any{"n": 16, "b": 100, "r:run-1:mark": "16:100:0"} }, 0},
		{"not admitted", func(w *world) {
			delete(w.hashes, "call:"+name)
			delete(w.sets, "order")
			delete(w.ledger(), "c:"+name)
			w.ledger()["sq"], w.ledger()["u:probe"], w.ledger()["rs"] = 0, 0, 0
			w.entries = nil
			w.line["told"], w.line["ran"], w.line["agent_sha256"], w.line["again"] = "STORE_UNAVAILABLE", "no", "", ""
			w.line["entries"], w.line["state"] = 0, ""
		}, 0},
		{"killed, and still open", (*world).killed, 1},
		{"not stored, and in the host's hands", (*world).notStored, 1},
		{"not stored, and settled", func(w *world) {
			w.line["told"], w.line["agent_sha256"], w.line["settled"] = "RESULT_NOT_STORED", "", "ok"
		}, 0},
		{"an unknown write", (*world).unknownWrite, 1},
		{"an unknown write that was resolved", func(w *world) {
			w.unknownWrite()
			delete(w.sets, "effects")
			w.hashes["settled:"+name] = map[string]any{"v": 1, "rv": "applied", "re": "receipt"}
			w.line["listed"] = false
		}, 1},
		{"swept, and settled beside the record", func(w *world) {
			w.drop("raw", "ag")
			w.record()["st"], w.record()["cd"], w.record()["xe"] = "ERROR", "ORPHANED", "unknown"
			field := "raw:claim:" + digest(raw)[:16]
			w.hashes["settled:"+name] = map[string]any{"v": 1, "lo": "x", "lf": field, field: raw}
			w.line["told"], w.line["agent_sha256"], w.line["settled"] = "RESULT_NOT_STORED", "", "ok"
			w.line["state"], w.line["code"] = "ERROR", "ORPHANED"
		}, 1},
		{"deleted", func(w *world) {
			delete(w.hashes, "call:"+name)
			w.ledger()["rs"] = 0
			w.line["gone"], w.line["state"] = "deleted", ""
		}, 0},
		{"expired, and in the host's hands", func(w *world) {
			w.notStored()
			delete(w.hashes, "call:"+name)
			w.line["told"], w.line["gone"], w.line["state"], w.line["listed"] = "RECORD_EXPIRED", "expired", "", false
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ready(t, server)
			c.change(w)
			result, err := w.check()
			if err != nil {
				t.Fatal(err)
			}
			rows := result.Rows()
			if !result.OK() || len(rows) != 1 || rows[0].Unknown != c.unknown || rows[0].Injected != 1 || rows[0].Places != 1 {
				t.Errorf("rows %+v, failures %q; want one injection, %d unknown, no failure", rows, result.Failures(), c.unknown)
			}
		})
	}
}

// Each of these files or contents was doctored in one respect, and each must be
// rejected for that very reason.
func TestChecker_rejects_what_was_doctored(t *testing.T) {
	server := redistest.Server(t)
	for _, c := range []struct {
		name   string
		change func(*world)
		column string // that counts it; empty for a failure of no row
		says   string
	}{
		{"entered twice", func(w *world) { w.entries = append(w.entries, w.entries[0]) }, "doubled", "entered 2 times"},
		{"READY, never entered", func(w *world) { w.entries = nil; w.line["entries"] = 0 }, "wrong", "told ran \"yes\", entered 0 times"},
		{"told READY, the record is open", func(w *world) { w.unfinished() }, "lost", "told READY, and the record is \"PROJECTING\""},
		{"told READY, the record is gone", func(w *world) { delete(w.hashes, "call:"+name) }, "lost", "told READY, and the record is \"\""},
		{"told READY, the injection took the record", func(w *world) {
			delete(w.hashes, "call:"+name)
			w.line["gone"], w.line["state"] = "expired", ""
		}, "lost", "told READY, and the record is \"\""},
		{"told something else than is stored", func(w *world) { w.line["agent_sha256"] = digest("another text") }, "lost", "the agent result in the record is not what was told"},
		{"raw with one byte changed", func(w *world) { w.record()["raw:claim:"+digest(raw)[:16]] = raw + "!" }, "lost", "the raw in the record is not what the tool returned"},
		{"a body that is named is missing", func(w *world) { delete(w.record(), "raw:claim:"+digest(raw)[:16]) }, "wrong", "names a body that is not there"},
		{"a body that is not named", func(w *world) { w.record()["raw:other:0123456789abcdef"] = "left over" }, "wrong", "has a body that it does not name"},
		{"admitted, no record", func(w *world) {
			w.notStored()
			delete(w.hashes, "call:"+name)
			w.line["state"] = ""
		}, "lost", "admitted, and there is no record"},
		{"open, not in the set", func(w *world) { w.killed(); delete(w.sets, "open") }, "lost", "not in the set of open calls"},
		{"open, not listed by the library", func(w *world) { w.killed(); w.line["listed"] = false }, "lost", "did not list it"},
		{"the result is nowhere", func(w *world) { w.notStored(); w.line["retained_sha256"] = "" }, "lost", "neither stored nor settled"},
		{"the host holds other bytes", func(w *world) { w.notStored(); w.line["retained_sha256"] = digest("other") }, "lost", "neither stored nor settled"},
		{"told no, and entered", func(w *world) { w.line["told"], w.line["ran"] = "STORE_UNAVAILABLE", "no" }, "wrong", "told ran \"no\", entered 1 times"},
		{"told nothing that is known", func(w *world) { w.line["ran"] = "perhaps" }, "wrong", "ran \"perhaps\""},
		{"told READY and not whether it ran", func(w *world) { w.line["ran"] = "" }, "wrong", "told \"READY\" and ran \"\""},
		{"false duplicate", func(w *world) { w.line["told"] = "DUPLICATE_TOOL_CALL" }, "wrong", "the first call was told that it is a duplicate"},
		{"no duplicate", func(w *world) { w.line["again"] = "READY" }, "wrong", "a second call of the same name was told"},
		{"success by itself", func(w *world) { w.line["told"], w.line["agent_sha256"] = "RESULT_NOT_STORED", "" }, "wrong", "nobody tried to store it later"},
		{"claims that it did not start", func(w *world) {
			w.notStored()
			delete(w.sets, "open")
			r := w.record()
			r["st"], r["cd"], r["xe"] = "ERROR", "CANCELLED", "not_started"
			w.line["state"], w.line["code"] = "ERROR", "CANCELLED"
		}, "wrong", "not started, and it was entered"},
		{"the runner counts otherwise", func(w *world) { w.line["entries"] = 0 }, "wrong", "the runner counted 0 entries, the file has 1"},
		{"the runner saw another state", func(w *world) { w.line["state"] = "ERROR" }, "wrong", "the runner saw \"ERROR\""},
		{"an unknown write blocks nothing", func(w *world) { w.unknownWrite(); delete(w.sets, "effects") }, "wrong", "its run is not blocked"},
		{"a known effect blocks", func(w *world) { w.sets["effects"] = map[string]float64{name: 0} }, "wrong", "its run is blocked"},
		{"a record without an expiry", func(w *world) { w.expiry["call:"+name] = 0 }, "no TTL", "has no expiry"},
		{"a ledger without an expiry", func(w *world) { w.expiry["run"] = 0 }, "no TTL", "run has no expiry"},
		{"an order without an expiry", func(w *world) { w.expiry["order"] = 0 }, "no TTL", "order has no expiry"},
		{"a life that was prolonged", func(w *world) { w.expiry["call:"+name] = ends + 1 }, "no TTL", "was born to expire"},
		{"what is left of a record", func(w *world) {
			w.hashes["call:"+name] = map[string]any{"raw:claim:0123456789abcdef": raw}
			w.expiry["call:"+name] = 0
			w.notStoredLine()
		}, "no TTL", "has no expiry"},
		{"a sequence that went on", func(w *world) { w.ledger()["sq"] = 2 }, "wrong", "the last sequence is 2, and 1 calls are guarded"},
		{"a tool charged twice", func(w *world) { w.ledger()["u:probe"] = 2 }, "wrong", "2 calls are counted against tools"},
		{"bytes that nobody holds", func(w *world) { w.ledger()["rs"] = 4096 }, "wrong", "4096 bytes are reserved"},
		{"an order that shrank", func(w *world) { delete(w.sets, "order") }, "wrong", "0 calls are in order"},
		{"another order", func(w *world) { w.sets["order"][name] = 2 }, "wrong", "order and guard"},
		{"ended, and still open", func(w *world) { w.sets["open"] = map[string]float64{name: 1} }, "wrong", "is in the set of open calls"},
		{"a foreign type", func(w *world) { w.texts[base+"open"] = "x" }, "wrong", "keys of a foreign type"},
		{"a record of no line", func(w *world) {
			w.hashes["call::call_2"] = map[string]any{"v": 1, "st": "PROJECTING", "ex": ends, "rs": 0}
		}, "wrong", "a record of no line"},
		{"two lines for one call", func(w *world) { w.twice() }, "wrong", "has two lines"},
		{"the section found something", func(w *world) { w.line["broken"] = "a history that is not linear" }, "wrong", "a history that is not linear"},
		{"no audit", func(w *world) { w.noAudit = true }, "wrong", "no audit covers this call"},
		{"a run of no line", func(w *world) { w.line["base"] = base + "x" }, "", "a run of no line"},
		{"a list of runs without an expiry", func(w *world) { w.scope = map[string]float64{"run-1": 1} }, "", "}:runs has no expiry"},
		{"a key of a scope that is none", func(w *world) { w.texts["harness:v1:{0123456789abcdef0123456789abcdef}:else"] = "x" }, "", "a key of nobody"},
		{"a quota of a foreign type", func(w *world) { w.texts["harness:v1:{0123456789abcdef0123456789abcdef}:quota"] = "x" }, "", "a key of nobody"},
		{"a quota charged twice", func(w *world) { w.quota = map[string]any{"n": 32, "b": 200, "r:run-1:mark": "16:100:0"} }, "", "the sums are 32 calls and 200 bytes"},
		{"a reservation of nobody", func(w *world) {
			w.quota = map[string]any{"n": 32, "b": 200, "r:run-1:mark": "16:100:0", "r:run-2:mark": "16:100:0"}
		}, "", "a reservation that no run holds: run-2:mark"},
		{"a run without its reservation", func(w *world) { w.quota = map[string]any{"n": 0, "b": 0} }, "", "a run that holds nothing that was reserved"},
		{"a key of nobody", func(w *world) { w.texts["stray"] = "x" }, "", "a key of nobody: stray"},
		{"an entry of no call", func(w *world) { w.entries = append(w.entries, base+" :call_9") }, "", "an entry belongs to no call"},
		{"nothing at all", func(w *world) {
			w.line, w.extra, w.entries = nil, nil, nil
			w.hashes, w.sets = nil, nil
		}, "", "the report has no call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ready(t, server)
			c.change(w)
			result, err := w.check()
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(result.Failures(), "\n")
			if result.OK() || !strings.Contains(text, c.says) {
				t.Errorf("failures %q, want %q", text, c.says)
			}
			if c.column != "" && column(result, c.column) == 0 {
				t.Errorf("column %q counts nothing in %+v", c.column, result.Rows())
			}
		})
	}
}

func column(r *checker.Result, name string) int {
	n := 0
	for _, row := range r.Rows() {
		n += map[string]int{"lost": row.Lost, "doubled": row.Doubled, "no TTL": row.NoTTL, "wrong": row.Wrong}[name]
	}
	return n
}

func TestChecker_rejects_what_it_cannot_read(t *testing.T) {
	server := redistest.Server(t)
	for name, extra := range map[string]string{
		"no JSON":          "{",
		"an unknown field": `{"kind":"call","section":"s","fault":"f","told":"READY","rann":"yes"}`,
		"no section":       `{"kind":"call","fault":"f"}`,
		"another kind":     `{"kind":"cal","section":"s","fault":"f"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := ready(t, server)
			w.extra = append(w.extra, extra)
			if result, err := w.check(); err == nil {
				t.Errorf("accepted: %+v", result.Rows())
			}
		})
	}
	t.Run("entries that are none", func(t *testing.T) {
		w := ready(t, server)
		w.entries = append(w.entries, "nonsense")
		if _, err := w.check(); err == nil {
			t.Error("accepted")
		}
	})
}

// What a tool does after its call was judged is not overlooked.
func TestChecker_sees_what_comes_later(t *testing.T) {
	w := ready(t, redistest.Server(t))
	w.fill()
	report, entries := w.files()
	c := checker.New(report, entries)
	if err := c.Audit(t.Context(), w.server.Addr()); err != nil {
		t.Fatal(err)
	}
	add(t, entries, w.entries[0]+"\n")
	add(t, report, `{"kind":"plan"`)
	result, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(result.Failures(), "\n")
	if !strings.Contains(text, "was entered 2 times, and 1 when it was judged") || !strings.Contains(text, "has no end") {
		t.Errorf("failures %q, want the second entry and the broken line", text)
	}
}

func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestResult_names_what_was_not_tested(t *testing.T) {
	w := ready(t, redistest.Server(t))
	w.extra = []string{
		`{"kind":"plan","section":"wire","fault":"reply lost","script":"complete","place":"after","asked":200}`,
		`{"kind":"plan","section":"wire","fault":"slow","script":"admit","place":"before","asked":200}`,
		`{"kind":"not tested","section":"wire","fault":"slow","script":"attach","place":"bare","reason":"it never travels alone"}`,
	}
	result, err := w.check()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := result.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"not tested: wire, 0 of 200 injections: admit before (slow)\n",
		"not tested: wire, 1 of 200 injections: complete after (reply lost)\n",
		"not tested: wire, it never travels alone: attach bare (slow)\n",
		"wire: reply lost      0      0        1",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
	if !result.OK() {
		t.Errorf("failures %q; few injections are no failure", result.Failures())
	}
}
