package localstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/localstore"
)

func TestOpen_again(t *testing.T) {
	t.Parallel()
	path := file(t)
	clock := fakes.NewClock()
	raws := map[string][]byte{"small": []byte("raw"), "empty": {}, "large": make([]byte, 3*localstore.PieceBytes+7)}
	first, err := localstore.Open(path, &localstore.Options{Now: clock.Now})
	must(t, err)
	work(t, first, "run-1", raws)
	must(t, first.Close())
	must(t, first.Close())
	_, err = first.Inspect(context.Background(), runKey("run-1"))
	is(t, "Inspect after Close", err, localstore.ErrClosed)
	_, err = first.OpenRun(context.Background(), opening("run-2"))
	is(t, "OpenRun after Close", err, localstore.ErrClosed)

	second := open(t, path, clock.Now)
	holds(t, second, "run-1", raws)
	if second.Path() != path {
		t.Errorf("Path = %q, want %q", second.Path(), path)
	}
	a := admission("run-1", "small", clock.Now())
	a.Claim = "another"
	_, err = second.Admit(context.Background(), a)
	is(t, "the same name in another process's life", err, canonical.ErrDuplicate)
	head, err := second.Heads(context.Background(), runKey("run-1"), []canonical.CallName{a.Call})
	must(t, err)
	if ref, _ := head[0].Reference(); ref.Strength != evidence.StrengthFsync {
		t.Errorf("strength = %q, want %q", ref.Strength, evidence.StrengthFsync)
	}
	if db := second.DB(); db.NoSync || db.NoGrowSync || db.NoFreelistSync {
		t.Error("a commit does not wait for the disk")
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, want readable by its owner alone", info.Mode())
	}
}

// TestOpen_time: where the machine's clock goes back, the store's stands still, also
// in a later process.
func TestOpen_time(t *testing.T) {
	t.Parallel()
	path, clock, ctx := file(t), fakes.NewClock(), context.Background()
	s, err := localstore.Open(path, &localstore.Options{Now: clock.Now})
	must(t, err)
	state, err := s.OpenRun(ctx, opening("run-1"))
	must(t, err)
	clock.Advance(14 * time.Minute)
	seen, err := s.Inspect(ctx, runKey("run-1")) // a read alone: told, and not written until Close
	must(t, err)
	clock.Advance(-time.Hour)
	back, err := s.Inspect(ctx, runKey("run-1"))
	must(t, err)
	if !back.Now.Equal(seen.Now) || back.Left != time.Minute {
		t.Errorf("with the clock an hour back it is %v with %v left, want still %v, 1m", back.Now, back.Left, seen.Now)
	}
	must(t, s.Close())
	s = open(t, path, clock.Now)
	again, err := s.Inspect(ctx, runKey("run-1"))
	must(t, err)
	if !again.Now.Equal(seen.Now) {
		t.Errorf("in a later life it is %v, want still %v", again.Now, seen.Now)
	}
	clock.Advance(time.Hour + 2*time.Minute)
	a := admission("run-1", "late", clock.Now())
	_, err = s.Admit(ctx, a)
	is(t, "Admit when the clock has caught up with the deadline", err, canonical.ErrDeadline)
	if state.Deadline.Before(seen.Now) {
		t.Errorf("the deadline %v was over at %v", state.Deadline, seen.Now)
	}
}

// harm makes a file, or changes one.
type harm func(t *testing.T, path string)

// inBucket changes one bucket of a database, which it makes where there is none.
func inBucket(name string, fill func(b *bolt.Bucket) error) harm {
	return func(t *testing.T, path string) {
		db, err := bolt.Open(path, 0o600, nil)
		must(t, err)
		must(t, db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return err
			}
			return fill(b)
		}))
		must(t, db.Close())
	}
}

// ours is a file of the store, harmed.
func ours(do harm) harm {
	return func(t *testing.T, path string) {
		s, err := localstore.Open(path, nil)
		must(t, err)
		work(t, s, "run-1", map[string][]byte{"a": make([]byte, 100_000)})
		must(t, s.Close())
		do(t, path)
	}
}

func TestOpen_what_cannot_be_used(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make harm
		want error
	}{
		"text": {func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(strings.Repeat("text ", 10_000)), 0o600))
		}, localstore.ErrDamaged},
		"a few bytes":       {func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("x"), 0o600)) }, localstore.ErrDamaged},
		"another program's": {inBucket("theirs", func(b *bolt.Bucket) error { return b.Put([]byte("k"), []byte("v")) }), localstore.ErrForeignFile},
		"another program's of our name": {inBucket("harness", func(b *bolt.Bucket) error { return b.Put([]byte("format"), []byte("theirs")) }),
			localstore.ErrForeignFile},
		"a newer format": {ours(inBucket("harness", func(b *bolt.Bucket) error {
			return b.Put([]byte("format"), localstore.Seal("harness", "format", localstore.Number(localstore.FormatVersion+1)))
		})), localstore.ErrNewerFormat},
		"a newer seal": {ours(inBucket("harness", func(b *bolt.Bucket) error {
			v := localstore.Seal("harness", "format", localstore.Number(localstore.FormatVersion))
			v[1]++
			return b.Put([]byte("format"), v)
		})), localstore.ErrNewerFormat},
		"without its time": {ours(inBucket("harness", func(b *bolt.Bucket) error { return b.Delete([]byte("clock")) })), localstore.ErrDamaged},
		"cut off":          {ours(func(t *testing.T, path string) { must(t, os.Truncate(path, 20_000)) }), localstore.ErrDamaged},
		"both first pages gone": {ours(func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			_, err = f.WriteAt(make([]byte, 2*os.Getpagesize()), 0)
			must(t, errors.Join(err, f.Close()))
		}), localstore.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := file(t)
			c.make(t, path)
			before, err := os.ReadFile(path)
			must(t, err)
			for range 2 { // it is let go after a failure
				s, err := localstore.Open(path, nil)
				if err == nil {
					must(t, s.Close())
				}
				named(t, err, path, c.want)
			}
			after, err := os.ReadFile(path)
			must(t, err)
			if string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

// named checks that an error names the file, and that its safe text does not.
func named(t *testing.T, err error, path string, want error) {
	t.Helper()
	is(t, "Open", err, want)
	wrong, ok := errors.AsType[*localstore.FileError](err)
	if !ok || wrong.Path != path || !strings.Contains(err.Error(), want.Error()) || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("Open = %v, want a FileError with path and reason", err)
		return
	}
	if safe := wrong.SafeText(); strings.Contains(safe, path) || !strings.Contains(safe, want.Error()) {
		t.Errorf("safe text %q, want the reason without the path", safe)
	}
}

func TestOpen_options(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{-1, localstore.MaxWait + 1} {
		_, err := localstore.Open(file(t), &localstore.Options{Wait: wait})
		if wrong, ok := errors.AsType[*localstore.OptionError](err); !ok || wrong.Field != "Wait" {
			t.Errorf("Wait of %v: Open = %v, want an OptionError", wait, err)
		}
	}
	_, err := localstore.Open(filepath.Join(folder(t), "no", "such", "folder"), nil)
	is(t, "Open in a folder that is not there", err, os.ErrNotExist)
	_, err = localstore.Open(folder(t), nil)
	if _, ok := errors.AsType[*localstore.FileError](err); !ok {
		t.Errorf("Open of a folder = %v, want a FileError", err)
	}
}

// holdRole opens the file that it is told, says so, and holds it until its input
// ends.
func holdRole(orders *json.Decoder, answers *json.Encoder) error {
	var path string
	if err := orders.Decode(&path); err != nil {
		return err
	}
	s, err := localstore.Open(path, nil)
	if err != nil {
		return err
	}
	if err := answers.Encode("held"); err != nil {
		return err
	}
	if err := orders.Decode(&path); err == nil {
		return fmt.Errorf("a second order")
	}
	return s.Close()
}

func TestOpen_while_another_process_holds_the_file(t *testing.T) {
	t.Parallel()
	path := file(t)
	other := start(t, "hold")
	other.send(path)
	var word string
	other.receive(&word)
	for _, wait := range []time.Duration{0, 100 * time.Millisecond} {
		begun := time.Now()
		_, err := localstore.Open(path, &localstore.Options{Wait: wait})
		named(t, err, path, localstore.ErrLocked)
		if took := time.Since(begun); took < wait/2 {
			t.Errorf("asked to wait %v, Open gave up after %v", wait, took)
		}
	}
	opened := make(chan error)
	go func() {
		s, err := localstore.Open(path, &localstore.Options{Wait: localstore.MaxWait})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	other.leave()
	if err := <-opened; err != nil {
		t.Errorf("Open that waits, when the other process has left = %v", err)
	}
	s := open(t, path, nil)
	_, err := localstore.Open(s.Path(), nil)
	is(t, "Open of a file that this process holds", err, localstore.ErrLocked)
}

// TestDone: a message of a context that is over is not sent.
func TestDone(t *testing.T) {
	t.Parallel()
	s := open(t, file(t), nil)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.OpenRun(gone, opening("run-1"))
	is(t, "OpenRun", err, context.Canceled)
	_, err = s.Inspect(gone, runKey("run-1"))
	is(t, "Inspect", err, context.Canceled)
	answers := s.AdmitBatch(gone, []canonical.Admission{admission("run-1", "a", time.Now()), {}})
	is(t, "AdmitBatch", answers[0].Err, context.Canceled)
	if _, ok := errors.AsType[*canonical.NameError](answers[1].Err); !ok {
		t.Errorf("AdmitBatch of nothing = %v, want a NameError", answers[1].Err)
	}
	_, err = s.Inspect(context.Background(), runKey("run-1"))
	is(t, "Inspect", err, canonical.ErrRunMissing)
}

// TestWaiting: a message that waits for another's write leaves with its context, and
// a message in the same queue is carried out.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := open(t, file(t), nil)
	release := s.HoldWriter()
	leaving, cancel := context.WithCancel(context.Background())
	errs := make(chan error)
	go func() {
		_, err := s.OpenRun(leaving, opening("leaves"))
		errs <- err
	}()
	stays := make(chan error)
	go func() {
		_, err := s.OpenRun(context.Background(), opening("stays"))
		stays <- err
	}()
	s.AwaitQueue(2)
	cancel()
	is(t, "OpenRun that left", <-errs, context.Canceled)
	release()
	must(t, <-stays)
	list, err := s.ListRuns(context.Background(), runKey("").Scope, canonical.ListedRun{}, 10)
	must(t, err)
	if len(list) != 1 || list[0].Run != "stays" {
		t.Errorf("runs = %v, want stays", list)
	}
}

// TestGroup: messages that wait together, and those of a batch, share a commit.
func TestGroup(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, file(t), nil), context.Background()
	state, err := s.OpenRun(ctx, opening("run-1"))
	must(t, err)
	before := s.Commits()
	var admissions []canonical.Admission
	for i := range 100 {
		admissions = append(admissions, admission("run-1", fmt.Sprint("call-", i%90), state.Now)) // ten of them twice
	}
	var endings []canonical.Ending
	for i, got := range s.AdmitBatch(ctx, admissions) {
		must(t, got.Err)
		if got.Admitted.Own != (i >= 90) {
			t.Errorf("admission %d: own %v", i, got.Admitted.Own)
		}
		endings = append(endings, ending(admissions[i], got.Admitted.Expires, []byte("raw")))
	}
	for i, got := range s.CompleteBatch(ctx, endings) {
		must(t, got.Err)
		if got.Ended.Repeat != (i >= 90) {
			t.Errorf("ending %d: repeat %v", i, got.Ended.Repeat)
		}
	}
	if n := s.Commits() - before; n != 2 {
		t.Errorf("a batch of admissions and one of endings took %d commits, want 2", n)
	}
	before = s.Commits()
	for _, got := range s.AdmitBatch(ctx, admissions) {
		must(t, got.Err)
	}
	if n := s.Commits() - before; n != 0 {
		t.Errorf("a batch that changes nothing took %d commits, want 0", n)
	}
	release := s.HoldWriter()
	done := make(chan error)
	for i := range 8 {
		go func() {
			_, err := s.OpenRun(ctx, opening(canonical.RunID(fmt.Sprint("run-of-", i))))
			done <- err
		}()
	}
	s.AwaitQueue(8)
	before = s.Commits()
	release()
	for range 8 {
		must(t, <-done)
	}
	if n := s.Commits() - before; n != 1 {
		t.Errorf("8 messages that waited together took %d commits, want 1", n)
	}
}

// TestErrors: no text of trouble says what is in the file, or where it is.
func TestErrors(t *testing.T) {
	t.Parallel()
	path := file(t)
	s, err := localstore.Open(path, nil)
	must(t, err)
	must(t, s.Close())
	_, err = s.Complete(context.Background(), ending(admission("run-1", "secret-id", time.Now()), time.Now(), []byte("secret-raw")))
	is(t, "Complete", err, localstore.ErrClosed)
	for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%q", err)} {
		if text != "localstore: complete: the store is closed" {
			t.Errorf("text %q", text)
		}
	}
	var safe canonical.SafeTexter
	if !errors.As(err, &safe) || safe.SafeText() != err.Error() {
		t.Errorf("safe text of %v", err)
	}
	_, err = s.Complete(context.Background(), canonical.Ending{Run: runKey("run-1"), Call: canonical.CallName{ID: "a"}, Claim: "c", Verdict: lifecycle.Completion{}})
	if _, ok := errors.AsType[*lifecycle.CompletionError](err); !ok {
		t.Errorf("Complete without a verdict = %v, want lifecycle's error", err)
	}
}
