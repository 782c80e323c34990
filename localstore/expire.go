package localstore

import (
	"strings"

	"github.com/toolharness/harness/canonical"
)

// How many lives a transaction ends at most that were over before it.
const (
	expiredEach   = 16  // of one that writes something else; an admission adds one life
	expiredAtOpen = 256 // of one that does nothing else
	runsEach      = 2   // whole runs among them, which may be large
)

// endOfRun and endOfRecord are the keys of the list of all lives: the moment, the
// run, and for a record its call.
func endOfRun(run string, expires int64) string { return number(expires) + run }

func endOfRecord(run string, rec *record) string {
	return number(rec.Expires) + run + placeJoiner + rec.call.String()
}

// lists adds a life to the list.
func (t *tx) lists(end string) { t.put(t.bucket(bucketEnds), end, seal(bucketEnds, end, nil)) }

// expire removes records and runs whose life is over, up to a number of both and of
// runs, and reports whether more may be left. An entry that is damaged is left alone.
func (t *tx) expire(most, mostRuns int) (left bool) {
	var over []string
	c := t.bucket(bucketEnds).Cursor()
	for k, v := c.First(); k != nil && len(over) < most; k, v = c.Next() {
		at, _, ok := numberOf(string(k))
		if ok && t.now.Before(moment(at)) {
			break
		}
		if _, err := unseal(bucketEnds, string(k), v); err == nil {
			over = append(over, string(k))
		}
	}
	for _, end := range over {
		if mostRuns == 0 {
			return true
		}
		if t.endLife(end) {
			mostRuns--
		}
	}
	return len(over) == most
}

// endLife removes what one entry of the list stands for, and reports whether that
// was a run. A record that was born under the same name since is left alone; there
// is no such run, see forget.
func (t *tx) endLife(end string) (run bool) {
	expires, rest, _ := numberOf(end)
	name, call, isRecord := strings.Cut(rest, placeJoiner)
	t.delete(t.bucket(bucketEnds), end)
	if !isRecord {
		if digest, id, ok := strings.Cut(name, ":"); ok {
			t.delete(t.bucket(bucketScopes), digest+number(expires)+id)
		}
		t.dropRun(name)
		return true
	}
	r := t.remains(name)
	parsed, err := canonical.ParseCallName(call)
	if r == nil || err != nil {
		return false
	}
	rec := record{call: parsed}
	if r.load(prefixCall+call, &rec) == nil && rec.Expires == expires {
		r.dropRecord(&rec)
	}
	return false
}

// remains is the bucket of a run, whether it lives or not; nil where there is none.
func (t *tx) remains(name string) *run {
	r := &run{t: t, name: name, b: t.bucket(bucketRuns).Bucket([]byte(name))}
	if r.b == nil {
		return nil
	}
	if r.bodies = r.b.Bucket([]byte(keyBodies)); r.bodies == nil {
		return nil
	}
	r.fault = r.load(keyLedger, &r.ledger)
	return r
}

// forget removes an earlier life of a run that nobody has swept yet, before another
// one begins under its name.
func (t *tx) forget(key canonical.RunKey) {
	name := nameOf(key)
	if r := t.remains(name); r != nil {
		t.delete(t.bucket(bucketEnds), endOfRun(name, r.ledger.Expires))
		t.delete(t.bucket(bucketScopes), placeOf(key.Scope, r.ledger.Expires, key.Run))
		t.dropRun(name)
	}
}

// dropRun removes the bucket of a run, where there is one.
func (t *tx) dropRun(name string) {
	if runs := t.bucket(bucketRuns); runs.Bucket([]byte(name)) != nil {
		t.dirty = true
		t.fail(runs.DeleteBucket([]byte(name)))
	}
}
