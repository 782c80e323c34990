package cuts_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"

	"github.com/toolharness/harness/faults/internal/cuts"
)

// server takes one connection, answers "yes" as soon as anything came, and says
// at the end all that it got.
func server(t *testing.T) (addr string, got <-chan []byte) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	all := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		first := make([]byte, 4)
		n, _ := c.Read(first)
		if n > 0 {
			_, _ = c.Write([]byte("yes"))
		}
		rest, _ := io.ReadAll(c)
		all <- append(first[:n:n], rest...)
	}()
	return l.Addr().String(), all
}

func TestConn(t *testing.T) {
	for _, tt := range []struct {
		name    string
		odds    cuts.Odds
		arrives string
		answer  string
		total   cuts.Total
	}{
		{"whole", cuts.Odds{}, "question", "yes", cuts.Total{}},
		{"request lost", cuts.Odds{LoseRequest: 1}, "", "", cuts.Total{LostRequests: 1}},
		{"request cut", cuts.Odds{CutRequest: 1}, "ques", "", cuts.Total{CutRequests: 1}},
		{"reply lost", cuts.Odds{LoseReply: 1}, "question", "", cuts.Total{LostReplies: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr, got := server(t)
			cutter := cuts.New(1, tt.odds)
			c, err := cutter.Dial(context.Background(), "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 3)
			n := 0
			if _, err = c.Write([]byte("question")); err == nil {
				n, _ = c.Read(answer)
			}
			_ = c.Close()
			if string(answer[:n]) != tt.answer {
				t.Errorf("answer = %q, want %q", answer[:n], tt.answer)
			}
			if arrived := <-got; !bytes.Equal(arrived, []byte(tt.arrives)) {
				t.Errorf("arrived = %q, want %q", arrived, tt.arrives)
			}
			if cutter.Total() != tt.total {
				t.Errorf("total = %+v, want %+v", cutter.Total(), tt.total)
			}
		})
	}
}

func TestCutter_off(t *testing.T) {
	addr, _ := server(t)
	cutter := cuts.New(1, cuts.Odds{LoseRequest: 1})
	cutter.Off()
	c, err := cutter.Dial(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("question")); err != nil {
		t.Errorf("Write = %v, want nil once the faults are off", err)
	}
}
