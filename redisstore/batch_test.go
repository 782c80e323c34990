package redisstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/redisstore"
)

func TestBatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		t.Run("P35_one_trip_each_way", func(t *testing.T) { batchTrips(t, e) })
		t.Run("an_unknown_script_costs_one_trip_more", func(t *testing.T) { batchNoScript(t, e) })
		t.Run("answers_lost_and_sent_again", func(t *testing.T) { batchLost(t, e) })
		t.Run("more_bytes_than_one_pipeline_takes", func(t *testing.T) { batchLarge(t, e) })
		t.Run("one_record_that_cannot_be_written", func(t *testing.T) { batchForeign(t, e) })
	})
}

// someReads are admissions of n calls of one run, and endings for them, with raw
// results of the given sizes in turn.
func someReads(state canonical.RunState, group string, sizes ...int) (admissions []canonical.Admission, endings []canonical.Ending) {
	for i, size := range sizes {
		a := admission(state, fmt.Sprintf("%s-%d", group, i), canonical.EffectRead)
		admissions = append(admissions, a)
		endings = append(endings, ready(a, state.Now.Add(state.Limits.RecordTTL), bytes.Repeat([]byte{'a' + byte(i)}, size)))
	}
	return admissions, endings
}

func admittedAll(answers []canonical.AdmitAnswer) error {
	var errs []error
	for _, a := range answers {
		errs = append(errs, a.Err)
	}
	return errors.Join(errs...)
}

func endedAll(answers []canonical.EndAnswer) error {
	var errs []error
	for _, a := range answers {
		errs = append(errs, a.Err)
	}
	return errors.Join(errs...)
}

// wantRaw reads every record back.
func wantRaw(t *testing.T, s *redisstore.Store, endings []canonical.Ending) {
	t.Helper()
	for _, want := range endings {
		got, err := s.Record(ctx, want.Run, want.Call)
		if err != nil || !bytes.Equal(got.Raw.Bytes, want.Raw.Bytes) {
			t.Errorf("%s: %d bytes raw, %v; want the %d that were sent", want.Call, len(got.Raw.Bytes), err, len(want.Raw.Bytes))
		}
	}
}

// warmed makes the scripts known to every server: of a cluster's three, so many
// runs leave none out.
func warmed(t *testing.T, e env) {
	t.Helper()
	runs := 1
	if e.space != nil {
		runs = 24
	}
	for i := range runs {
		warm := admission(open(t, e.store, fmt.Sprintf("warm-%d-%s", i, strings.ReplaceAll(t.Name(), "/", "-"))), "warm", canonical.EffectRead)
		complete(t, e.store, ready(warm, admit(t, e.store, warm).Expires, []byte("x")))
	}
}

func batchTrips(t *testing.T, e env) {
	warmed(t, e)
	s, w := wired(t, e, -1)
	for group, sizes := range map[string][]int{
		"small":  {10, 20, 30, 40, 50},
		"middle": {16 << 10, 1, 16 << 10, 300 << 10},
		"large":  {4 << 20, 100, 3 << 20, 0},
		"one":    {2000},
	} {
		admissions, endings := someReads(open(t, e.store, "batch-"+group), group, sizes...)
		what := fmt.Sprintf("%d %s", len(sizes), group)
		w.took(t, "admitting "+what, 1, func() error { return admittedAll(s.AdmitBatch(ctx, admissions)) })
		w.took(t, "ending "+what, 1, func() error { return endedAll(s.CompleteBatch(ctx, endings)) })
		wantRaw(t, e.store, endings)
	}
	w.took(t, "nothing", 0, func() error {
		return errors.Join(admittedAll(s.AdmitBatch(ctx, nil)), endedAll(s.CompleteBatch(ctx, nil)))
	})
}

func batchNoScript(t *testing.T, e env) {
	state := open(t, e.store, "batch-flush")
	s, w := wired(t, e, -1)
	admissions, endings := someReads(state, "c", 100, 5<<10, 2<<20)
	e.flushScripts(t)
	w.took(t, "admitting three", 2, func() error { return admittedAll(s.AdmitBatch(ctx, admissions)) })
	e.flushScripts(t)
	w.took(t, "ending three", 2, func() error { return endedAll(s.CompleteBatch(ctx, endings)) })
	wantRaw(t, e.store, endings)
}

// batchLost: the client repeats a whole pipeline whose answer did not come, and
// everything in it means once what it means twice.
func batchLost(t *testing.T, e env) {
	warmed(t, e)
	state := open(t, e.store, "batch-lost")
	s, w := wired(t, e, 2)
	admissions, endings := someReads(state, "c", 100, 5<<10, 2<<20)
	w.lose.Store(1)
	answers := s.AdmitBatch(ctx, admissions)
	if err := admittedAll(answers); err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Admitted.Seq != int64(i+1) || !a.Admitted.Own {
			t.Errorf("admission %d: number %d, own %t; want number %d, recognised as ours", i, a.Admitted.Seq, a.Admitted.Own, i+1)
		}
	}
	w.lose.Store(1)
	if err := endedAll(s.CompleteBatch(ctx, endings)); err != nil {
		t.Fatal(err)
	}
	wantRaw(t, e.store, endings)
}

func batchLarge(t *testing.T, e env) {
	state := open(t, e.store, "batch-heavy")
	admissions, endings := someReads(state, "c", 4<<20, 4<<20, 4<<20, 4<<20, 10)
	if err := admittedAll(e.store.AdmitBatch(ctx, admissions)); err != nil {
		t.Fatal(err)
	}
	s, w := wired(t, e, -1)
	w.took(t, "ending 16 MiB", 2, func() error { return endedAll(s.CompleteBatch(ctx, endings)) })
	wantRaw(t, e.store, endings)
}

// batchForeign: what stands under one record's name is not ours; the others do
// not suffer, and it is not touched.
func batchForeign(t *testing.T, e env) {
	state := open(t, e.store, "batch-foreign")
	admissions, endings := someReads(state, "c", 100, 5<<10, 100, 5<<10)
	if err := admittedAll(e.store.AdmitBatch(ctx, admissions)); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1} {
		key := e.record(admissions[i])
		if err := errors.Join(e.client.Del(ctx, key).Err(), e.client.Set(ctx, key, "not ours", redis.KeepTTL).Err()); err != nil {
			t.Fatal(err)
		}
	}
	answers := e.store.CompleteBatch(ctx, endings)
	for i, a := range answers {
		if foreign := i < 2; foreign != errors.Is(a.Err, canonical.ErrForeign) || !foreign && a.Err != nil {
			t.Errorf("ending %d: %v", i, a.Err)
		}
	}
	wantRaw(t, e.store, endings[2:])
	if got := e.client.Get(ctx, e.record(admissions[1])).Val(); got != "not ours" {
		t.Errorf("the foreign value became %q", got)
	}
}
