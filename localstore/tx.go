package localstore

import (
	"bytes"
	"encoding/json"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/toolharness/harness/canonical"
)

// tx is one transaction, reading or writing, and the time that it is judged by. It
// remembers the first write that failed: a decision is made before its first write,
// and one that is half written is never committed.
type tx struct {
	s     *Store
	bolt  *bolt.Tx
	now   time.Time
	dirty bool
	err   error
}

// fail keeps the first error of a write.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *tx) put(b *bolt.Bucket, key string, value []byte) {
	t.dirty = true
	t.fail(b.Put([]byte(key), value))
}

func (t *tx) delete(b *bolt.Bucket, key string) {
	t.dirty = true
	t.fail(b.Delete([]byte(key)))
}

func (t *tx) bucket(name string) *bolt.Bucket { return t.bolt.Bucket([]byte(name)) }

// What stands in a run's bucket, by the beginning of its key. The name of a call
// is "<turn>:<id>", as everywhere.
const (
	keyLedger   = "l"      // the ledger, JSON
	keyEffects  = "f"      // effects that are not known, with their due times
	keyBodies   = "bodies" // a bucket: pieces of bodies by number
	prefixGuard = "c:"     // call name -> sequence, life and fate of its record
	prefixFound = "e:"     // evidence id -> call name
	prefixOrder = "o:"     // sequence, call name
	prefixOpen  = "p:"     // due time, call name; PROJECTING
	prefixCall  = "r:"     // call name -> record, JSON
	prefixLate  = "s:"     // call name -> settlement, JSON
)

// run is the bucket of one living run.
type run struct {
	t      *tx
	key    canonical.RunKey
	name   string
	b      *bolt.Bucket
	bodies *bolt.Bucket
	ledger ledger
	fault  error // of the ledger: exactly ErrNewerVersion, ErrForeign or ErrCorrupt
}

// nameOf is the key of a run's bucket. A scope enters only as its digest.
func nameOf(key canonical.RunKey) string { return key.Scope.Digest() + ":" + string(key.Run) }

// find returns a living run, or nil. One whose ledger cannot be read has a fault;
// its records can be read all the same. The error is a bucket that is none.
func (t *tx) find(key canonical.RunKey) (*run, error) {
	name := nameOf(key)
	runs := t.bucket(bucketRuns)
	r := &run{t: t, key: key, name: name, b: runs.Bucket([]byte(name))}
	if r.b == nil {
		if runs.Get([]byte(name)) != nil {
			return nil, canonical.ErrForeign
		}
		return nil, nil
	}
	if r.bodies = r.b.Bucket([]byte(keyBodies)); r.bodies == nil {
		return nil, canonical.ErrCorrupt
	}
	if r.fault = r.load(keyLedger, &r.ledger); r.fault == nil && !t.now.Before(moment(r.ledger.Expires)) {
		return nil, nil
	}
	return r, nil
}

// ledgered is a living run whose ledger can be read, or the "no". missing is what
// a run is that is not there.
func (t *tx) ledgered(op string, key canonical.RunKey, call canonical.CallName, missing error) (*run, error) {
	r, err := t.find(key)
	switch {
	case err != nil:
		return nil, refuse(op, call, err)
	case r == nil:
		return nil, refuse(op, call, missing)
	case r.fault != nil:
		return nil, refuse(op, canonical.CallName{}, r.fault)
	}
	return r, nil
}

// get reads one value of the run; nil where there is none.
func (r *run) get(key string) ([]byte, error) {
	sealed := r.b.Get([]byte(key))
	if sealed == nil {
		if r.b.Bucket([]byte(key)) != nil {
			return nil, canonical.ErrForeign
		}
		return nil, nil
	}
	return unseal(r.name, key, sealed)
}

// load reads one value that must be there.
func (r *run) load(key string, into any) error {
	value, err := r.get(key)
	if err != nil {
		return err
	}
	if value == nil || json.Unmarshal(value, into) != nil {
		return canonical.ErrCorrupt
	}
	return nil
}

func (r *run) put(key string, value []byte) { r.t.put(r.b, key, seal(r.name, key, value)) }

func (r *run) store(key string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		r.t.fail(err)
		return
	}
	r.put(key, text)
}

// each calls do for the keys that begin with prefix, from the first that is not
// before from, until do answers false. What is damaged is ErrCorrupt.
func (r *run) each(prefix, from string, do func(rest string) (more bool, err error)) error {
	c := r.b.Cursor()
	for k, v := c.Seek([]byte(prefix + from)); bytes.HasPrefix(k, []byte(prefix)); k, v = c.Next() {
		if _, err := unseal(r.name, string(k), v); err != nil {
			return canonical.ErrCorrupt
		}
		if more, err := do(string(k[len(prefix):])); err != nil || !more {
			return err
		}
	}
	return nil
}

// numbered reads a key's rest: a number and a call name.
func numbered(rest string) (int64, canonical.CallName, error) {
	n, text, ok := numberOf(rest)
	call, err := canonical.ParseCallName(text)
	if !ok || err != nil {
		return 0, canonical.CallName{}, canonical.ErrCorrupt
	}
	return n, call, nil
}
