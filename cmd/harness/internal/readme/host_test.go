package readme

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/examples/host"
	"github.com/toolharness/harness/examples/loop"
	"github.com/toolharness/harness/internal/redistest"
)

// The host of the README opens everything itself, against a real server, and the model reads why its statement failed.
func TestHostOfTheReadme(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		server := redistest.Shared(t)
		db, _ := chinook(t)
		question, most := recorded(t, "call_B88EwU44nwwpQL5M9nlcemSU")
		m := &model{answer: spender, script: []loop.Message{calls(query("call_wrong", "SELECT Nothing FROM Nowhere")), calls(most)}}
		answer, facts, err := host.Ask(t.Context(), server.URL(), db, m, question)
		if want := "The country whose customers spent the most is the USA, with a total spending of 523.06."; err != nil || answer != want {
			t.Fatalf("got %q, %v, want %q", answer, err, want)
		}
		if told := m.history[2].Text; !strings.Contains(told, `"code":"SQL_ERROR"`) || strings.Contains(told, "Nowhere") {
			t.Errorf("the model was told %s", told)
		}
		for _, want := range []string{"TotalSpent = 523.06", "SQL_ERROR, ran yes"} {
			if !strings.Contains(facts, want) {
				t.Errorf("facts lack %q:\n%s", want, facts)
			}
		}
	})
}
