package customprojector

import (
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/projectortest"
)

func TestOrders(t *testing.T) {
	projectortest.Run(t, projector.Func(Orders),
		projectortest.Case{Name: "two orders", Raw: []byte(`{"status":"ok","orders":[{"id":1},{"id":2}]}`), Want: evidence.Found},
		projectortest.Case{Name: "none", Raw: []byte(`{"status":"ok","orders":[]}`), Want: evidence.None},
		projectortest.Case{Name: "another shape", Raw: []byte(`{"status":"ok"}`), Want: evidence.Failed},
		projectortest.Case{Name: "an outage", Raw: []byte(`{"status":"error"}`), Want: evidence.Failed},
	)
}
