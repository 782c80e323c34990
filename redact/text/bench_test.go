package text_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/redact/text"
)

// BenchmarkRules redacts a log of 1 MiB without credentials, which is the usual
// case, and one in which every tenth line has one.
func BenchmarkRules(b *testing.B) {
	line := "2026-01-02T03:04:05.678Z INFO  [worker-7] http: GET https://api.example.com:8443/v1/items?page=3 status=200 took=12ms user=\"bob\"\n"
	dirty := "2026-01-02T03:04:05.678Z ERROR [worker-7] dial postgres://app:s3cr3t-pw@db:5432/app?password=hunter2x: refused\n"
	for name, log := range map[string]string{
		"clean": strings.Repeat(line, 1<<20/len(line)),
		"dirty": strings.Repeat(strings.Repeat(line, 9)+dirty, 1<<20/(9*len(line)+len(dirty))),
	} {
		b.Run(name, func(b *testing.B) {
			r, err := redact.New(redact.Config{Rules: []redact.Finder{text.New(redact.Keys{})}})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Redact(context.Background(), redact.Message, []byte(log)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
