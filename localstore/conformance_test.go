package localstore_test

import (
	"testing"

	"github.com/toolharness/harness/canonical/storetest"
)

func TestT64_conformance(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) { storetest.Run(t, localHarness) })
}
