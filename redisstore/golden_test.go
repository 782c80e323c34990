package redisstore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

var update = flag.Bool("update", false, "write the golden files of the current version")

// golden is one stored key of a fixed run, and what a reader makes of it.
type golden struct {
	Key     string            `json:"key"` // behind the tag; of the scope's keys behind goldenScope
	Type    string            `json:"type"`
	Expires int64             `json:"expires_ms"`
	Hash    map[string]string `json:"hash,omitempty"`
	Set     []string          `json:"set,omitempty"` // score and member
	Reads   map[string]any    `json:"reads,omitempty"`
}

// goldenScope begins the name of a key that belongs to the run's scope.
const goldenScope = "scope:"

func goldenDir(version int) string {
	return filepath.Join("testdata", "golden", "v"+strconv.Itoa(version))
}

// goldenRun writes a run in which every kind of record occurs. Everything in it
// is fixed, the time too.
func goldenRun(t *testing.T, e env) canonical.RunKey {
	t.Helper()
	o := opening(t, runKey("golden"))
	o.Budget = canonical.Budget{Calls: 16, PerTool: 8, Bytes: 80 << 20}
	o.Limits = canonical.Limits{RecordTTL: 24 * time.Hour, RequestBytes: 64 << 10, RawBytes: 4 << 20, AgentBytes: 16 << 10, FactsBytes: 8 << 10,
		RecordBytes: 5 << 20, ToolTimeout: 30 * time.Second, ProjectorTimeout: 2 * time.Second, ClosingTimeout: 3 * time.Second}
	state, err := e.store.OpenRun(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	_ = admit(t, e.store, admission(state, "open", canonical.EffectRead))
	good := admission(state, "ready", canonical.EffectRead)
	good.Call.Turn = "3"
	complete(t, e.store, ready(good, admit(t, e.store, good).Expires, []byte(`[{"answer":42}]`)))
	bad := admission(state, "error", canonical.EffectWrite)
	admit(t, e.store, bad)
	complete(t, e.store, canonical.Ending{Run: bad.Run, Call: bad.Call, Claim: bad.Claim, Stage: canonical.StageRaw,
		Verdict: lifecycle.Fail(lifecycle.ResultTooLarge, lifecycle.Completed), Raw: canonical.Raw{Size: 5 << 20, SHA256: canonical.Body("seen").SHA256(), AtLeast: true}})
	saved := admission(state, "saved", canonical.EffectWrite)
	admit(t, e.store, saved)
	if _, err := e.store.Save(ctx, canonical.Saving{Run: saved.Run, Call: saved.Call, Claim: saved.Claim, Raw: canonical.NewRaw([]byte("saved raw"))}); err != nil {
		t.Fatal(err)
	}
	swept := admission(state, "swept", canonical.EffectWrite)
	swept.Timeout = time.Second
	expires := admit(t, e.store, swept).Expires
	e.advance(12 * time.Second)
	if got, err := e.store.Sweep(ctx, canonical.Sweeping{Run: state.Run, Max: 10}); err != nil || len(got) != 1 {
		t.Fatalf("sweep: %v %v", got, err)
	}
	if _, err := e.store.Settle(ctx, ready(swept, expires, []byte("late raw"))); err != nil {
		t.Fatal(err)
	}
	if err := e.store.Resolve(ctx, canonical.Resolution{Run: state.Run, Call: swept.Call, Verdict: canonical.Applied, Evidence: "receipt 4711"}); err != nil {
		t.Fatal(err)
	}
	return state.Run
}

// dump reads every key of a run, and what the store says of it.
func dump(t *testing.T, e env, run canonical.RunKey) map[string]golden {
	t.Helper()
	out := map[string]golden{}
	for _, key := range e.keys(t) {
		rest := strings.TrimPrefix(key, e.base(run))
		if list, ofScope := strings.CutPrefix(key, scopeBase(e.prefix, run.Scope)); ofScope {
			rest = goldenScope + list
		}
		g := golden{Key: rest, Expires: e.client.PExpireTime(ctx, key).Val().Milliseconds(), Type: e.client.Type(ctx, key).Val()}
		if g.Type == "hash" {
			g.Hash = e.client.HGetAll(ctx, key).Val()
		} else {
			for _, z := range e.client.ZRangeWithScores(ctx, key, 0, -1).Val() {
				g.Set = append(g.Set, fmt.Sprintf("%.0f %v", z.Score, z.Member))
			}
		}
		g.Reads = reads(t, e, run, g.Key)
		out[strings.NewReplacer("::", "-", ":", "-").Replace(g.Key)] = g
	}
	return out
}

// reads is what a reader makes of a key, as plain text, but for the clock.
func reads(t *testing.T, e env, run canonical.RunKey, rest string) map[string]any {
	t.Helper()
	name := func(prefix string) canonical.CallName {
		call, err := canonical.ParseCallName(strings.TrimPrefix(rest, prefix))
		if err != nil {
			t.Fatal(err)
		}
		return call
	}
	out := map[string]any{}
	var err error
	switch {
	case rest == "run":
		var state canonical.RunState
		state, err = e.store.Inspect(ctx, run)
		state.Now, state.Left = time.Time{}, 0
		out["state"] = plainly(state)
	case strings.HasPrefix(rest, "call:"):
		var record canonical.Record
		record, err = e.store.Record(ctx, run, name("call:"))
		out["record"] = plainly(record)
	case strings.HasPrefix(rest, "settled:"):
		var s canonical.Settlement
		if s, err = e.store.SettlementOf(ctx, run, name("settled:")); err == nil && s.Late != nil && s.Resolved != nil {
			out["late"], out["resolved"], out["expires"] = plainly(*s.Late), plainly(*s.Resolved), plainly(s.Expires)
		}
	default:
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %v", rest, err)
	}
	return out
}

// plainly prints a value with its bodies, which print as their size by
// themselves, spelled out. A field that came later and that a record of before
// does not have is left out.
func plainly(value any) string {
	text := strings.Replace(fmt.Sprintf("%+v", value), " Redacted: ", " ", 1)
	switch v := value.(type) {
	case canonical.Record:
		text += fmt.Sprintf(" request=%q raw=%q agent=%q facts=%q coverage=%q", []byte(v.Request), []byte(v.Raw.Bytes), []byte(v.Agent), []byte(v.Facts), []byte(v.Coverage))
	case canonical.LateResult:
		text += fmt.Sprintf(" raw=%q agent=%q", []byte(v.Raw.Bytes), []byte(v.Agent))
	}
	return text
}

func TestP46_golden_current_version_is_written_as_before(t *testing.T) {
	t.Parallel()
	e := mini(t)
	for name, g := range dump(t, e, goldenRun(t, e)) {
		asBefore(t, name, g)
	}
}

// The reservations of a scope, of an open run and of one that was closed.
func TestP46_golden_quota_is_written_as_before(t *testing.T) {
	t.Parallel()
	e := mini(t)
	for _, name := range []string{"golden", "closed"} {
		o := opening(t, runKey(name))
		o.Budget = canonical.Budget{Calls: 16, PerTool: 8, Bytes: 80 << 20}
		o.Limits = canonical.DefaultLimits()
		o.Quota = canonical.Quota{Records: 100}
		mustOpen(t, e.store, o)
	}
	if _, err := e.store.CloseRun(ctx, canonical.Closing{Run: runKey("closed"), Token: token}); err != nil {
		t.Fatal(err)
	}
	for name, g := range dump(t, e, runKey("golden")) {
		if name == "scope-held" || name == "scope-quota" {
			asBefore(t, name, g)
		}
	}
}

// asBefore compares a key with the golden file of its name.
func asBefore(t *testing.T, name string, g golden) {
	t.Helper()
	got, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join(goldenDir(canonical.SchemaVersion), name+".json")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v (a new key needs -update and a word in the changelog)", err)
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stored as\n%s\nwant, as in the golden file,\n%s", name, got, want)
	}
}

// restore puts the golden keys of a version into an empty server. They expire in
// an hour, since their own time lies in the past of a real server.
func restore(t *testing.T, e env, run canonical.RunKey, version int, now time.Time) map[string]golden {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(goldenDir(version), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files of version %d: %v", version, err)
	}
	out := map[string]golden{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(text, &g); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		key := e.base(run) + g.Key
		if rest, ofScope := strings.CutPrefix(g.Key, goldenScope); ofScope {
			key = scopeBase(e.prefix, run.Scope) + rest
		}
		if g.Type == "hash" {
			err = e.client.HSet(ctx, key, g.Hash).Err()
		}
		for _, entry := range g.Set {
			score, member, _ := strings.Cut(entry, " ")
			n, bad := strconv.ParseFloat(score, 64)
			err = errors.Join(err, bad, e.client.ZAdd(ctx, key, redis.Z{Score: n, Member: member}).Err())
		}
		if err := errors.Join(err, e.client.PExpireAt(ctx, key, now.Add(time.Hour)).Err()); err != nil {
			t.Fatal(err)
		}
		out[file] = g
	}
	return out
}

// versions are those that this code reads: its own and the one before.
func versions() []int {
	list := []int{canonical.SchemaVersion}
	if canonical.SchemaVersion > 1 {
		list = append(list, canonical.SchemaVersion-1)
	}
	return list
}

func TestP46_golden_versions_load(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		now, err := e.client.Time(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range versions() {
			run := runKey("golden")
			for file, g := range restore(t, e, run, version, now) {
				if got, want := reads(t, e, run, g.Key), g.Reads; !reflect.DeepEqual(got, want) {
					t.Errorf("%s reads as\n%s\nwant\n%s", file, got, want)
				}
			}
			if order, err := e.store.Order(ctx, run, 0, 10); err != nil || len(order) != 5 {
				t.Errorf("version %d: order %v, %v", version, order, err)
			}
		}
	})
}

func TestP46_golden_newer_version_is_refused_and_untouched(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := open(t, e.store, "newer")
		a := admission(state, "c1", canonical.EffectWrite)
		got := admit(t, e.store, a)
		record := e.base(a.Run) + "call:" + a.Call.String()
		if err := e.client.HSet(ctx, record, "v", canonical.SchemaVersion+1, "zz", "a field that this version does not know").Err(); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, e)
		large := ready(a, got.Expires, make([]byte, 64<<10))
		for what, err := range everyMessage(e, a, large) {
			if !errors.Is(err, canonical.ErrNewerVersion) {
				t.Errorf("%s of a newer record = %v, want ErrNewerVersion", what, err)
			}
		}
		heads, err := e.store.Heads(ctx, a.Run, []canonical.CallName{a.Call, callName("none")})
		if err != nil || heads[0].Fault != canonical.ErrNewerVersion || heads[0].Exists() || heads[1].Fault != nil {
			t.Errorf("heads of a newer record and none = %+v, %v", heads, err)
		}
		if after := snapshot(t, e); after != before {
			t.Errorf("the keys were\n%s\nand are\n%s", before, after)
		}
	})
}

// everyMessage sends all that can be sent of a call.
func everyMessage(e env, a canonical.Admission, ending canonical.Ending) map[string]error {
	errs := map[string]error{}
	_, errs["admit"] = e.store.Admit(ctx, a)
	_, errs["save"] = e.store.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: ending.Raw, Expires: ending.Expires})
	_, errs["complete"] = e.store.Complete(ctx, ending)
	_, errs["settle"] = e.store.Settle(ctx, ending)
	errs["resolve"] = e.store.Resolve(ctx, canonical.Resolution{Run: a.Run, Call: a.Call, Verdict: canonical.Applied, Evidence: "x"})
	errs["delete"] = e.store.Delete(ctx, a.Run, a.Call)
	_, errs["view"] = e.store.View(ctx, a.Run, a.Call)
	_, errs["record"] = e.store.Record(ctx, a.Run, a.Call)
	return errs
}

// snapshot is all that a server holds, with every expiry.
func snapshot(t testing.TB, e env) string {
	t.Helper()
	keys := e.keys(t)
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&b, "%s expires %d\n", key, e.client.PExpireTime(ctx, key).Val().Milliseconds())
		switch kind := e.client.Type(ctx, key).Val(); kind {
		case "hash":
			h := e.client.HGetAll(ctx, key).Val()
			for _, field := range slices.Sorted(maps.Keys(h)) {
				fmt.Fprintf(&b, "  %s = %.120q (%d)\n", field, h[field], len(h[field]))
			}
		case "zset":
			fmt.Fprintf(&b, "  %v\n", e.client.ZRangeWithScores(ctx, key, 0, -1).Val())
		default:
			fmt.Fprintf(&b, "  %s %q\n", kind, e.client.Get(ctx, key).Val())
		}
	}
	return b.String()
}
