package localstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/toolharness/harness/localstore"
)

// smallDiskRole works in a process whose files may not become larger than 2 MiB,
// until a write fails, and answers what the store said from then on.
func smallDiskRole(orders *json.Decoder, answers *json.Encoder) error {
	var path string
	if err := orders.Decode(&path); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 2 << 20, Max: 2 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	s, err := localstore.Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	state, err := s.OpenRun(ctx, opening("run"))
	if err != nil {
		return err
	}
	var ended []string
	for _, call := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		a := admission("run", call, state.Now)
		got, err := s.Admit(ctx, a)
		if err == nil {
			_, err = s.Complete(ctx, ending(a, got.Expires, rawFor(call+"x")))
		}
		if err != nil {
			_, read := s.Inspect(ctx, runKey("run"))
			_, again := s.Complete(ctx, ending(a, got.Expires, nil))
			return errors.Join(answers.Encode(ended), answers.Encode([]bool{
				errors.Is(err, localstore.ErrBroken), errors.Is(read, localstore.ErrBroken), errors.Is(again, localstore.ErrBroken),
			}), s.Close())
		}
		ended = append(ended, call)
	}
	return errors.New("everything fitted")
}

// TestDisk_that_is_full: a write that fails is trouble and not an answer, nothing
// that was acknowledged before is lost, and the file can be opened again.
func TestDisk_that_is_full(t *testing.T) {
	t.Parallel()
	path := file(t)
	p := start(t, "small")
	p.send(path)
	var ended []string
	var broken []bool
	p.receive(&ended)
	p.receive(&broken)
	p.leave()
	if len(ended) == 0 || len(broken) != 3 || !broken[0] || !broken[1] || !broken[2] {
		t.Fatalf("%d calls ended; the write that failed, a read and another write behind it say ErrBroken: %v", len(ended), broken)
	}
	s := open(t, path, nil)
	raws := map[string][]byte{}
	for _, call := range ended {
		raws[call] = rawFor(call + "x")
	}
	holds(t, s, "run", raws)
	next := admission("run", "next", time.Now())
	if _, err := s.Admit(context.Background(), next); err != nil {
		t.Errorf("Admit after opening again = %v", err)
	}
}
