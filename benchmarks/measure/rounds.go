package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Subject is one way of doing what is compared. Sample does it once, from a state
// that it makes itself.
type Subject struct {
	Name   string
	Sample func(context.Context) (Sample, error)
}

// Plan says how often, and in which order.
type Plan struct {
	Rounds int    // at least 1
	Seed   uint64 // of the order within rounds
	Cold   bool   // without the round that is thrown away
}

// Results are the samples of all subjects, by subject and round.
type Results struct {
	Names   []string
	Samples [][]Sample
}

// Rounds takes a sample of every subject in every round.
func Rounds(ctx context.Context, p Plan, subjects ...Subject) (Results, error) {
	r := Results{Samples: make([][]Sample, len(subjects))}
	for _, s := range subjects {
		r.Names = append(r.Names, s.Name)
	}
	order := rand.New(rand.NewPCG(p.Seed, uint64(len(subjects))))
	warm := 1
	if p.Cold {
		warm = 0
	}
	for round := range p.Rounds + warm {
		for _, i := range order.Perm(len(subjects)) {
			if err := ctx.Err(); err != nil {
				return Results{}, err
			}
			s, err := subjects[i].Sample(ctx)
			if err != nil {
				return Results{}, fmt.Errorf("%s: %w", subjects[i].Name, err)
			}
			if round >= warm {
				r.Samples[i] = append(r.Samples[i], s)
			}
		}
	}
	return r, nil
}

// Of is the median over rounds of something of a subject's samples.
func (r Results) Of(subject int, what func(Sample) float64) float64 {
	return Median(r.values(subject, what))
}

func (r Results) values(subject int, what func(Sample) float64) []float64 {
	var values []float64
	for _, s := range r.Samples[subject] {
		values = append(values, what(s))
	}
	return values
}

// Time is how many times as long a call of the subject takes as one of base, by the
// rates of both in the same round.
func (r Results) Time(subject, base int) Ratio {
	return r.Quotient(subject, base, func(s Sample) float64 { return 1 / s.Rate })
}

// Quotient is that of something of the samples of subject and base.
func (r Results) Quotient(subject, base int, what func(Sample) float64) Ratio {
	top, bottom := r.values(subject, what), r.values(base, what)
	quotients := make([]float64, len(top))
	for i := range top {
		quotients[i] = top[i] / bottom[i]
	}
	return RatioOf(quotients)
}

// Micros is a duration in microseconds, for tables.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
