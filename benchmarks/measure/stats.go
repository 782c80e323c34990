package measure

import (
	"fmt"
	"math"
	"slices"
)

// Quantile is the value below which the share q of the values lies, between the
// neighbours in proportion. NaN for no values.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Median is Quantile of a half.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Ratio is a quotient that was seen in several rounds.
type Ratio struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`  // a quarter of the rounds lies below
	High   float64 `json:"high"` // a quarter lies above
	Rounds int     `json:"rounds"`
}

// RatioOf summarizes the quotients of rounds.
func RatioOf(quotients []float64) Ratio {
	return Ratio{
		Median: Median(quotients), Low: Quantile(quotients, 0.25), High: Quantile(quotients, 0.75), Rounds: len(quotients),
	}
}

// String is the median with its spread: 1.31 (1.28-1.36).
func (r Ratio) String() string {
	if r.Rounds == 0 {
		return "-"
	}
	if r.Rounds == 1 {
		return fmt.Sprintf("%.2f", r.Median)
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f)", r.Median, r.Low, r.High)
}
