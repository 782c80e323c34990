package conversation_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/conversation"
)

func BenchmarkRead(b *testing.B) {
	for name, text := range map[string]string{
		"lines":        strings.Repeat(chatOf("a:f,b:g >a=1 >b=2 . c:f >c=3")+"\n", 2000),
		"one":          chatOf(strings.Repeat("a:f . >a=1 ", 10_000)),
		"large result": `{"messages":[` + asks + `,{"role":"tool","tool_call_id":"a","content":"` + strings.Repeat("x", 1<<22) + `"}]}`,
	} {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			data := []byte(text)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conversation.Read("b", data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
