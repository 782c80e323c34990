package measure

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
)

func TestQuantile_lies_between_neighbours(t *testing.T) {
	t.Parallel()
	values := []float64{4, 1, 3, 2}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.5, 2.5}, {0.25, 1.75}, {1, 4}} {
		if got := Quantile(values, c.q); got != c.want {
			t.Errorf("Quantile(%v) = %v, want %v", c.q, got, c.want)
		}
	}
	if values[0] != 4 {
		t.Error("the values were sorted in place")
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing = %v, want NaN", got)
	}
}

func TestRatio_text_has_the_spread(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Ratio{"-": {}, "1.50": RatioOf([]float64{1.5}), "1.20 (1.10-1.30)": RatioOf([]float64{1, 1.2, 1.4, 1.1, 1.3})} {
		if got := r.String(); got != want {
			t.Errorf("%+v prints %q, want %q", r, got, want)
		}
	}
}

func TestTake_calls_each_number_once(t *testing.T) {
	t.Parallel()
	const calls = 500
	var seen [calls]atomic.Int32
	got, err := Take(t.Context(), Work{Calls: calls, Callers: 7, Call: func(_ context.Context, i int) error {
		seen[i].Add(1)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range seen {
		if n := seen[i].Load(); n != 1 {
			t.Fatalf("number %d was called %d times", i, n)
		}
	}
	if got.Rate <= 0 || got.P50 > got.P99 || got.P99 > got.Max || got.Reads != 0 {
		t.Errorf("sample %+v", got)
	}
}

func TestTake_ends_with_the_first_error(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var calls atomic.Int64
	_, err := Take(t.Context(), Work{Calls: 1_000_000, Callers: 4, Call: func(context.Context, int) error {
		if calls.Add(1) == 10 {
			return broken
		}
		return nil
	}})
	if !errors.Is(err, broken) || calls.Load() > 1000 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

func TestRounds_pairs_samples_of_the_same_round(t *testing.T) {
	t.Parallel()
	round, order := map[string]int{}, ""
	subject := func(name string, rates ...float64) Subject {
		return Subject{Name: name, Sample: func(context.Context) (Sample, error) {
			order += name
			round[name]++
			return Sample{Rate: rates[round[name]-1]}, nil
		}}
	}
	// The first of each is thrown away. Both slow down by half in the last round.
	r, err := Rounds(t.Context(), Plan{Rounds: 3, Seed: 1}, subject("a", 1, 100, 100, 50), subject("b", 1, 50, 50, 25))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Time(1, 0); got.Median != 2 || got.Low != 2 || got.High != 2 || got.Rounds != 3 {
		t.Errorf("ratio %+v, want 2 in all of 3 rounds", got)
	}
	if got := r.Of(0, func(s Sample) float64 { return s.Rate }); got != 100 {
		t.Errorf("median rate %v, want 100", got)
	}
	if len(order) != 8 {
		t.Errorf("order %q, want 4 rounds of 2", order)
	}
}

func TestRounds_name_who_failed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := Rounds(t.Context(), Plan{Rounds: 1}, Subject{Name: "store", Sample: func(context.Context) (Sample, error) { return Sample{}, broken }})
	if !errors.Is(err, broken) || err.Error() != "store: broken" {
		t.Errorf("error %v", err)
	}
}
