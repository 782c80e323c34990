package text_test

import (
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/text"
)

// About the default limit of raw data, in the shapes that take the most steps.
func BenchmarkProject(b *testing.B) {
	row := `{"id":9007199254740993,"name":"漢字","tags":["a","b"],"note":"` + strings.Repeat("x", 60) + `"},`
	for name, raw := range map[string]string{
		"array":   "[" + strings.Repeat(row, 34_000) + "0]",
		"wrapper": `{"total":34000,"items":[` + strings.Repeat(row, 34_000) + `0]}`,
		"grid":    `{"grid":[` + strings.Repeat("["+strings.Repeat("0,", 200)+"0],", 10_000) + `0]}`,
		"string":  `{"content":"` + strings.Repeat(`line\n`, 600_000) + `"}`,
		"text":    strings.Repeat("a line of plain text\n", 200_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := projector.Drive(b.Context(), text.New(text.Options{}), input(raw), projector.Options{Timeout: time.Minute}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
