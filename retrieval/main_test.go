package retrieval_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the package when a goroutine outlives its tests.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// go-redis asks once a second whether a server that refused it is back, and
		// sees only at the next question that its pool was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
	)
}
