package remote_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs a child of a test of two processes, or the tests, after which no
// goroutine may be left.
func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
	)
}
