package console_test

import (
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/console"
)

func TestRowsAlign(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"name", "bytes", "code"}, {"größer", "7", ""}, {"a", "1234567", "X"}}
	widths := console.Widths(rows)
	want := []string{"name    bytes    code", "größer        7", "a       1234567  X"}
	for i, cells := range rows {
		if got := console.Row(widths, cells); got != want[i] {
			t.Errorf("got %q, want %q", got, want[i])
		}
	}
	if got, want := console.Row(widths[:1], []string{"a", "12", "b"}), "a       12  b"; got != want {
		t.Errorf("more cells than widths: got %q, want %q", got, want)
	}
	// A Chinese character takes two cells.
	wide := [][]string{{"青松卡", "1"}, {"card", "22"}, {"ＡＢ", "333"}, {"é½", "4"}}
	for i, want := range []string{"青松卡    1", "card     22", "ＡＢ    333", "é½        4"} {
		if got := console.Row(console.Widths(wide), wide[i]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := console.Widths(nil); got != nil {
		t.Errorf("no rows: got %v", got)
	}
}
