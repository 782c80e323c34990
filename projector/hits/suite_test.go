package hits_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/hits"
	"github.com/toolharness/harness/projector/projectortest"
)

// The contract of package projector, tried on documents as Encoder writes them.
func TestContract(t *testing.T) {
	t.Parallel()
	var many []hits.Hit
	for i := range 12 {
		h := hit(fmt.Sprint("c", i), fmt.Sprint("文档", i), "0.1000000000000000055511151231257827")
		h.Content = strings.Repeat("年费 annual fee ", 30*(i%3))
		many = append(many, h)
	}
	threshold := search()
	threshold.Threshold, threshold.BelowThreshold = hits.Threshold{Score: "0.9", Kind: hits.Similarity}, 2
	failed := search()
	failed.Legs[0].Failed = "timeout"
	projectortest.Run(t, hits.New(hits.Options{}),
		projectortest.Case{Name: "many", Request: []byte(request), Raw: []byte(encoded(t, search(), many...)), Want: evidence.Found},
		projectortest.Case{Name: "one", Raw: []byte(encoded(t, search(), many[0])), Want: evidence.Found},
		projectortest.Case{Name: "none", Request: []byte(request), Raw: []byte(encoded(t, search())), Want: evidence.None},
		projectortest.Case{Name: "none above the threshold", Raw: []byte(encoded(t, threshold, many...)), Want: evidence.None},
		projectortest.Case{Name: "only a fallback", Raw: []byte(encoded(t, search(), hits.Hit{Document: "d", Fallback: "latest"})), Want: evidence.None},
		projectortest.Case{Name: "none, a leg failed", Raw: []byte(encoded(t, failed)), Want: evidence.Failed},
		projectortest.Case{Name: "outage", Raw: []byte(`{"status":"error","message":"connection refused"}`), Want: evidence.Failed},
	)
}
