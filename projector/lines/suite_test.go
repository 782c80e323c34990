package lines_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/lines"
	"github.com/toolharness/harness/projector/projectortest"
)

// The contract of package projector, tried on documents as Encoder writes them.
func TestContract(t *testing.T) {
	t.Parallel()
	var many []lines.Record
	for i := range 90 {
		many = append(many, at(i, []string{"ERROR", "WARN", "INFO"}[i%3], []string{"checkout", "库存"}[i%2], strings.Repeat("訂單失敗 9007199254740993 ", i%9)))
	}
	single := search()
	single.Limit = 0
	tight := search()
	tight.MaxBytes = 320
	projectortest.Run(t, lines.New(lines.Options{}),
		projectortest.Case{Name: "many", Request: []byte(request), Raw: []byte(encoded(t, search(), many, lines.End{Reached: true})), Want: evidence.Found},
		projectortest.Case{Name: "full page", Raw: []byte(encoded(t, search(), append(many, many...), lines.End{Cursor: "c"})), Want: evidence.Found},
		projectortest.Case{Name: "single without a time", Raw: []byte(encoded(t, single, []lines.Record{{Message: "m"}}, lines.End{Reached: true})), Want: evidence.Found},
		projectortest.Case{Name: "none", Request: []byte(request), Raw: []byte(encoded(t, search(), nil, lines.End{Reached: true})), Want: evidence.None},
		projectortest.Case{Name: "none, success false", Raw: []byte(nothing(`"success":false,`)), Want: evidence.None},
		projectortest.Case{Name: "end not reached", Raw: []byte(encoded(t, search(), nil, lines.End{})), Want: evidence.Failed},
		projectortest.Case{Name: "first record over the cap", Raw: []byte(encoded(t, tight, many[8:], lines.End{Reached: true})), Want: evidence.Failed},
		projectortest.Case{Name: "outage", Raw: []byte(`{"success":false,"error":"connection refused"}`), Want: evidence.Failed},
	)
}
