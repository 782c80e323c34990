package boundary

import (
	"regexp"
	"testing"
	"time"
)

// A run's clock counts from before the request was sent: it runs out a little
// early and never late, and the store's time is estimated at or after what it is.
func TestRunClock(t *testing.T) {
	t.Parallel()
	own := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for name, store := range map[string]time.Time{
		"equal": own, "behind": own.Add(-2 * time.Hour), "ahead": own.Add(2 * time.Hour), "another decade": own.AddDate(-10, 0, 0),
	} {
		const left, trip = time.Minute, 40 * time.Millisecond // the store answered somewhere inside the trip
		c := newRunClock(own, store, left)
		for _, passed := range []time.Duration{0, trip, time.Second, left, time.Hour} {
			if got, want := c.left(own.Add(passed)), left-passed; got != want {
				t.Errorf("%s: %v after the request %v is left, want %v", name, passed, got, want)
			}
			if got, want := c.storeTime(own.Add(passed)), store.Add(passed); !got.Equal(want) {
				t.Errorf("%s: %v after the request the store's time is %v, want %v", name, passed, got, want)
			}
		}
	}
}

// A clock of ours that is set back gives time back that is not there; the store
// decides in the end. It must not overflow or panic.
func TestRunClock_set_back(t *testing.T) {
	t.Parallel()
	own := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	c := newRunClock(own, own, time.Minute)
	if got := c.left(own.Add(-time.Hour)); got != time.Hour+time.Minute {
		t.Errorf("%v left, want %v", got, time.Hour+time.Minute)
	}
	if got := c.storeTime(own.Add(-time.Hour)); !got.Equal(own.Add(-time.Hour)) {
		t.Errorf("the store's time is %v, want an hour before %v", got, own)
	}
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{32}$`) // 128 bits
	seen := map[string]bool{}
	for range 1000 {
		secret, err := newSecret()
		if err != nil || !form.MatchString(secret) || seen[secret] {
			t.Fatalf("secret %q, %v, seen before: %t", secret, err, seen[secret])
		}
		seen[secret] = true
	}
}
