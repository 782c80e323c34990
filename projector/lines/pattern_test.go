package lines_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolharness/harness/projector/lines"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"":                               "",
		"nothing varies here":            "nothing varies here",
		"a face is dead":                 "a face is dead",
		"payment 4711 failed after 30ms": "payment <n> failed after <n>ms",
		"broker12 lost t1-t2":            "broker<n> lost t<n>-t<n>",
		"1.5 of 2,000 at -3":             "<n>.<n> of <n>,<n> at -<n>",
		"2016-12-19 16:31:46,143 up":     "<n>-<n>-<n> <n>:<n>:<n>,<n> up",
		"10.0.0.7:9092 closed":           "<n>.<n>.<n>.<n>:<n> closed",
		"at 0xDEADBEEF and 0x1f":         "at <hex> and <hex>",
		"0x and 0xyz1":                   "<n>x and <n>xyz<n>",
		"commit 3f2a9bc01d":              "commit <hex>",
		"commit 3f2a9b":                  "commit <n>f<n>a<n>b",
		"deadbeefcafe":                   "deadbeefcafe",
		"12345678901234567890":           "<n>",
		"request 123e4567-e89b-12d3-a456-426614174000 done": "request <uuid> done",
		"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee":              "<uuid>",
		"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeeez":             "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeeez",
		"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeee":               "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeee",
		"id=123E4567-E89B-12D3-A456-426614174000,":          "id=<uuid>,",
		"订单 42 失败，用户 7":                                     "订单 <n> 失败，用户 <n>",
		"订单４２失败 ٣٤":                                         "订单<n>失败 <n>",
		"invalid \xff9 bytes":                               "invalid \xff<n> bytes",
		"in/kafka_7/part-00.log":                            "in/kafka_<n>/part-<n>.log",
	} {
		if got := lines.Pattern(message); got != want {
			t.Errorf("Pattern(%q) = %q, want %q", message, got, want)
		}
	}
}

// Messages that differ in what varies only are one pattern; others are not.
func TestPatternsOfOneKind(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i := range 300 {
		seen[lines.Pattern(fmt.Sprintf("fetch of partition-%d by consumer %08x-0000-4000-8000-%012x took %d ms", i, i, i*7919, i*3))]++
	}
	if len(seen) != 1 {
		t.Errorf("300 messages of one kind gave %d patterns: %v", len(seen), seen)
	}
}

// FuzzPattern: a pattern is valid where the message is, has no digit left that a
// counter would show, and is a pattern of its own once its masks are words.
func FuzzPattern(f *testing.F) {
	f.Fuzz(func(t *testing.T, message string) {
		pattern := lines.Pattern(message)
		if utf8.ValidString(message) && !utf8.ValidString(pattern) {
			t.Errorf("Pattern(%q) = %q is no UTF-8", message, pattern)
		}
		if strings.ContainsAny(pattern, "0123456789") {
			t.Errorf("Pattern(%q) = %q has digits", message, pattern)
		}
		if strings.Count(pattern, "\n") != strings.Count(message, "\n") {
			t.Errorf("Pattern(%q) = %q has other lines", message, pattern)
		}
	})
}

func BenchmarkPattern(b *testing.B) {
	scanner := bufio.NewScanner(strings.NewReader(strings.Repeat("[2016-12-19 16:31:46,143] INFO Partition [topic-a,7] on broker 0: Expanding ISR from 0 to 0,1 (kafka.cluster.Partition)\n", 100)))
	var all []string
	for scanner.Scan() {
		all = append(all, scanner.Text())
	}
	b.SetBytes(int64(len(all) * len(all[0])))
	for b.Loop() {
		for _, line := range all {
			lines.Pattern(line)
		}
	}
}
