package localstore_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/localstore"
)

// folder is a directory that goes with the test. Tests of what is kept when a
// process ends need no disk, and are told apart from those that do.
func folder(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "localstore")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func file(t testing.TB) string { return filepath.Join(folder(t), localstore.FileName) }

// open opens a file, and closes it with the test.
func open(t testing.TB, path string, now func() time.Time) *localstore.Store {
	t.Helper()
	s, err := localstore.Open(path, &localstore.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// probes are what the suite asks for beside the store: they look into the file and
// change it, by the layout that doc.go has.
type probes struct {
	t     testing.TB
	s     *localstore.Store
	clock *fakes.Clock
}

// localHarness is a fresh file with everything that the suite can make use of. A
// body travels in one transaction, so that there is no piece to be lost on its way.
func localHarness(t testing.TB) storetest.Harness {
	clock := fakes.NewClock()
	p := &probes{t: t, s: open(t, file(t), clock.Now), clock: clock}
	return storetest.Harness{
		Store: p.s, Now: clock.Now, Advance: clock.Advance,
		Keys: p.keys, ScopeKeys: p.scopeKeys, Fingerprint: p.fingerprint, SnapshotLedger: p.snapshot,
		PlantForeign: p.plantForeign, PlantNewer: p.plantNewer, PlantNewerLedger: p.plantNewerLedger,
		Corrupt: p.corrupt, RawReads: p.s.RawPieces,
	}
}

func (p *probes) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// look and change run do on the bucket of a run, where there is one.
func (p *probes) look(run canonical.RunKey, do func(tx *bolt.Tx, b *bolt.Bucket)) {
	p.t.Helper()
	p.must(p.s.DB().View(func(tx *bolt.Tx) error {
		if b := tx.Bucket([]byte(localstore.BucketRuns)).Bucket([]byte(localstore.NameOf(run))); b != nil {
			do(tx, b)
		}
		return nil
	}))
}

func (p *probes) change(run canonical.RunKey, do func(b *bolt.Bucket) error) {
	p.t.Helper()
	p.must(p.s.DB().Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(localstore.BucketRuns)).Bucket([]byte(localstore.NameOf(run)))
		if b == nil {
			return fmt.Errorf("no run %s", run.Run)
		}
		return do(b)
	}))
}

// ends lists the lives that the file knows of, by what ends with them.
func ends(tx *bolt.Tx) map[string]time.Time {
	out := map[string]time.Time{}
	c := tx.Bucket([]byte(localstore.BucketEnds)).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		out[string(k[8:])] = milliseconds(k)
	}
	return out
}

func milliseconds(b []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b[:8]))).UTC()
}

// keys are the entries of a run's bucket. Each stands as long as its record, or as
// the run. What has expired is removed by the next write (see TestExpired), and
// until then nobody is told of it.
func (p *probes) keys(run canonical.RunKey) (keys []storetest.Key) {
	p.look(run, func(tx *bolt.Tx, b *bolt.Bucket) {
		name, lives := localstore.NameOf(run), ends(tx)
		now := p.clock.Now()
		end, there := lives[name]
		if there && !now.Before(end) {
			return
		}
		keys = append(keys, storetest.Key{Name: "run", Expires: end, Immortal: !there})
		p.must(b.ForEach(func(k, _ []byte) error {
			key := storetest.Key{Name: fmt.Sprintf("%q", k), Expires: end, Immortal: !there}
			if call, ok := strings.CutPrefix(string(k), localstore.PrefixCall); ok {
				own, listed := lives[name+"\x00"+call]
				key.Expires, key.Immortal = own, !listed
				if listed && !now.Before(own) {
					return nil
				}
			}
			keys = append(keys, key)
			return nil
		}))
	})
	return keys
}

// scopeKeys are the entries of a scope's list. Those of runs that are over are
// removed by the next write.
func (p *probes) scopeKeys(scope canonical.Scope) (keys []storetest.Key) {
	p.must(p.s.DB().View(func(tx *bolt.Tx) error {
		c, prefix := tx.Bucket([]byte(localstore.BucketScopes)).Cursor(), []byte(scope.Digest())
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if end := milliseconds(k[len(prefix):]); p.clock.Now().Before(end) {
				keys = append(keys, storetest.Key{Name: string(k[len(prefix)+8:]) + " " + hex.EncodeToString(v), Expires: end})
			}
		}
		return nil
	}))
	return keys
}

// fingerprint is everything of a run, and the lives of it.
func (p *probes) fingerprint(run canonical.RunKey) string {
	var all strings.Builder
	p.look(run, func(tx *bolt.Tx, b *bolt.Bucket) {
		dump(&all, b)
		name := localstore.NameOf(run)
		c := tx.Bucket([]byte(localstore.BucketEnds)).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if bytes.HasPrefix(k[8:], []byte(name)) {
				fmt.Fprintf(&all, "%q\n", k)
			}
		}
	})
	return all.String()
}

func dump(all *strings.Builder, b *bolt.Bucket) {
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if v == nil {
			fmt.Fprintf(all, "%q:\n", k)
			dump(all, b.Bucket(k))
			continue
		}
		fmt.Fprintf(all, "%q = %s\n", k, canonical.Body(v).SHA256())
	}
}

// snapshot copies what makes the ledger: itself, the guards, and evidence ids.
func (p *probes) snapshot(run canonical.RunKey) func() {
	was := map[string][]byte{}
	ledger := func(k []byte) bool {
		return string(k) == localstore.KeyLedger || bytes.HasPrefix(k, []byte(localstore.PrefixGuard)) || bytes.HasPrefix(k, []byte(localstore.PrefixFound))
	}
	p.look(run, func(_ *bolt.Tx, b *bolt.Bucket) {
		p.must(b.ForEach(func(k, v []byte) error {
			if ledger(k) {
				was[string(k)] = bytes.Clone(v)
			}
			return nil
		}))
	})
	return func() {
		p.change(run, func(b *bolt.Bucket) error {
			var now [][]byte
			p.must(b.ForEach(func(k, _ []byte) error {
				if ledger(k) {
					now = append(now, bytes.Clone(k))
				}
				return nil
			}))
			for _, k := range now {
				p.must(b.Delete(k))
			}
			for k, v := range was {
				p.must(b.Put([]byte(k), v))
			}
			return nil
		})
	}
}

func callKey(id canonical.Identity) []byte { return []byte(localstore.PrefixCall + id.Call.String()) }

func (p *probes) plantForeign(id canonical.Identity) {
	p.change(id.RunKey, func(b *bolt.Bucket) error { return b.Put(callKey(id), []byte("somebody else's")) })
}

// raise makes a value look written by the next version.
func raise(b *bolt.Bucket, key []byte) error {
	value := bytes.Clone(b.Get(key))
	value[1] = canonical.SchemaVersion + 1
	return b.Put(key, value)
}

func (p *probes) plantNewer(id canonical.Identity) {
	p.change(id.RunKey, func(b *bolt.Bucket) error { return raise(b, callKey(id)) })
}

func (p *probes) plantNewerLedger(run canonical.RunKey) {
	p.change(run, func(b *bolt.Bucket) error { return raise(b, []byte(localstore.KeyLedger)) })
}

// corrupt flips a bit of every piece of the raw result and of the agent result.
func (p *probes) corrupt(id canonical.Identity) {
	p.change(id.RunKey, func(b *bolt.Bucket) error {
		var rec struct {
			Raw, Agent struct {
				ID uint64 `json:"id"`
			}
		}
		p.must(json.Unmarshal(b.Get(callKey(id))[localstore.SealBytes:], &rec))
		bodies := b.Bucket([]byte(localstore.KeyBodies))
		harmed := map[string][]byte{}
		p.must(bodies.ForEach(func(k, v []byte) error {
			number, piece := binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(k[8:])
			if (number == rec.Raw.ID || number == rec.Agent.ID) && piece < 1<<32 { // not the list of pieces
				flipped := bytes.Clone(v)
				flipped[len(v)/2] ^= 1
				harmed[string(k)] = flipped
			}
			return nil
		}))
		for k, v := range harmed {
			p.must(bodies.Put([]byte(k), v))
		}
		return nil
	})
}
