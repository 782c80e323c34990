package redistest

import (
	"os"
	"os/exec"
	"testing"
)

// RequireVariable names the environment variable that turns a missing
// redis-server from a skip into a failure. Empty and "0" mean no.
const RequireVariable = "HARNESS_REQUIRE_REDIS"

const missing = "NO redis-server ON THE PATH: THIS TEST DID NOT RUN ON A REAL SERVER. " +
	"Install redis-server, or set " + RequireVariable + "=1 to make this a failure."

// requireBinary finds redis-server, or ends the test one way or the other.
func requireBinary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err == nil {
		return path
	}
	if v := os.Getenv(RequireVariable); v != "" && v != "0" {
		t.Fatalf("redistest: %s=%s and no redis-server: %v", RequireVariable, v, err)
	}
	t.Skip(missing)
	return ""
}
