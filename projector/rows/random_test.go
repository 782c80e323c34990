package rows_test

import (
	"database/sql/driver"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// newRandom is seeded anew each time; the seed is in the test's log.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

func randomValue(r *rand.Rand) driver.Value {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return int64(r.Uint64())
	case 2:
		for {
			if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
				return f
			}
		}
	case 3:
		return r.IntN(2) == 0
	case 4:
		return randomBytes(r)
	case 5:
		return string(randomBytes(r))
	case 6:
		return time.Unix(r.Int64N(4e9), r.Int64N(1e9))
	default:
		text := make([]rune, r.IntN(30))
		for i := range text {
			text[i] = rune(r.IntN(0x3000))
		}
		return string(text)
	}
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(30))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
