package conversation_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/toolharness/harness/cmd/harness/internal/conversation"
)

// FuzzRead holds what every file must keep to: a typed error or conversations, never both; a line that exists; no more
// bytes than the file has; the same answer twice.
func FuzzRead(f *testing.F) {
	for _, test := range formats() {
		f.Add([]byte(test[0]))
	}
	for _, test := range streams() {
		f.Add([]byte(sse(test.pieces)))
		f.Add([]byte(exchangesOf(request(), quote(sse(test.pieces)))))
	}
	files, err := filepath.Glob("testdata/recorded/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatalf("got %d recorded files, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := conversation.Read("x", data)
		again, errAgain := conversation.Read("x", bytes.Clone(data))
		if (err == nil) != (errAgain == nil) || show(all) != show(again) {
			t.Fatalf("got %v, %v the second time, want %v, %v", again, errAgain, all, err)
		}
		if err != nil {
			var typed *conversation.Error
			if !errors.As(err, &typed) || all != nil || typed.Line < 0 || typed.Line > 1+bytes.Count(data, []byte("\n")) {
				t.Fatalf("got %v, %v, want an *Error with a line of the file and nothing else", all, err)
			}
			return
		}
		if len(all) == 0 {
			t.Fatal("got neither a conversation nor an error")
		}
		size := 0
		for _, c := range all {
			if c.Line < 1 || c.Unmatched < 0 || c.Outside < 0 {
				t.Fatalf("got %+v", c)
			}
			for _, call := range c.Calls {
				size += len(call.Arguments) + len(call.Result)
				if call.HasResult != (call.Result != nil) || call.Turn < 0 || !utf8.ValidString(call.ID) || !utf8.ValidString(call.Name) {
					t.Fatalf("got %+v", call)
				}
			}
		}
		if size > len(data) {
			t.Fatalf("got %d bytes of arguments and results from a file of %d", size, len(data))
		}
	})
}
