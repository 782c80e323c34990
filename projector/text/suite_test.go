package text_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/projectortest"
	"github.com/toolharness/harness/projector/text"
)

// The contract of package projector, for a tool of no agreed form and for one
// whose shape is named.
func TestContract(t *testing.T) {
	t.Parallel()
	row := `{"id":9007199254740993,"名":"` + strings.Repeat("漢字 ", 70) + `","price":0.10,"tags":["a",[1,[2]]]}`
	object := `{"data":{"list":[` + strings.Repeat(row+",", 12) + `1]},"n":1.10}`
	t.Run("anything", func(t *testing.T) {
		projectortest.Run(t, text.New(text.Options{Coverage: searched}),
			projectortest.Case{Name: "array", Raw: []byte("[" + strings.Repeat(row+",", 24) + row + "]"), Want: evidence.Found},
			projectortest.Case{Name: "object", Request: []byte(request), Raw: []byte(object), Want: evidence.Found},
			projectortest.Case{Name: "string", Raw: []byte(`"` + strings.Repeat(`漢\n`, 600) + `"`), Want: evidence.Found},
			projectortest.Case{Name: "text", Raw: []byte(strings.Repeat("a line 漢字\r\n", 150)), Want: evidence.Found},
			projectortest.Case{Name: "number", Raw: []byte("123456789012345678901234567890"), Want: evidence.Found},
			projectortest.Case{Name: "none", Request: []byte(request), Raw: []byte(" [] "), Want: evidence.None},
			projectortest.Case{Name: "null", Raw: []byte("null"), Want: evidence.Failed},
			projectortest.Case{Name: "hollow", Raw: []byte(`{"items":[]}`), Want: evidence.Failed},
			projectortest.Case{Name: "outage", Raw: []byte(`{"error":"connection refused"}`), Want: evidence.Failed},
		)
	})
	t.Run("of_a_shape", func(t *testing.T) {
		projectortest.Run(t, text.New(text.Options{Items: "/data/list", Coverage: searched}),
			projectortest.Case{Name: "object", Request: []byte(request), Raw: []byte(object), Want: evidence.Found},
			projectortest.Case{Name: "none", Request: []byte(request), Raw: []byte(`{"data":{"list":[]},"n":1}`), Want: evidence.None},
			projectortest.Case{Name: "another shape", Raw: []byte(`{"data":{"rows":[]}}`), Want: evidence.Failed},
			projectortest.Case{Name: "prose", Raw: []byte(`nothing found`), Want: evidence.Failed},
		)
	})
}
