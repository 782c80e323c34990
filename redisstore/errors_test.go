package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// serverError is what a server answered, as go-redis has it.
type serverError string

func (e serverError) Error() string { return string(e) }

// RedisError marks it as the server's own.
func (serverError) RedisError() {}

const marker = "SECRET-harness:v1:{abc:run}-10.0.0.7:6379"

func TestError_says_the_kind_and_nothing_from_below(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause error
		want  string
	}{
		{context.Canceled, "cancelled"},
		{fmt.Errorf(marker+": %w", context.DeadlineExceeded), "deadline exceeded"},
		{serverError("OOM command not allowed " + marker), "server error OOM"},
		{serverError("NOPERM " + marker), "server error NOPERM"},
		{serverError("ERR unknown command 'EVALSHA', with args beginning with: " + marker), "server error ERR"},
		{serverError(marker), "server error without a code"},
		{serverError(""), "server error without a code"},
		{serverError("oom " + marker), "server error without a code"},
		{serverError(strings.Repeat("X", 40) + " " + marker), "server error without a code"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded, Addr: &net.UnixAddr{Name: marker}}, "timeout"},
		{&net.OpError{Op: "dial", Err: errors.New(marker)}, "no connection"},
		{fmt.Errorf(marker+": %w", io.EOF), "connection closed"},
		{io.ErrUnexpectedEOF, "connection closed"},
		{net.ErrClosed, "connection closed"},
		{redis.ErrClosed, "client closed"},
		{errors.New(marker), "no connection"},
		{&ReplyError{Script: "admit", Reason: "unknown word"}, "redisstore: reply of script admit: unknown word"},
		{errIncomplete, "fields were lost on the way, more than once"},
	} {
		err := trouble(context.Background(), "admit", c.cause)
		if got, want := err.Error(), "redisstore: admit: "+c.want; got != want {
			t.Errorf("%v: %q, want %q", c.cause, got, want)
		}
		if !errors.Is(err, c.cause) {
			t.Errorf("%v cannot be found in the error", c.cause)
		}
		encoded, jsonErr := json.Marshal(err)
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", err, err, err, err, err, err), string(encoded), fmt.Sprintf("%+v %#v", struct{ Err error }{err}, []error{err})} {
			if strings.Contains(text, "SECRET") {
				t.Errorf("%T prints as %s", c.cause, text)
			}
		}
	}
}

func TestError_of_a_context_that_is_over(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	timeout := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	for ctx, want := range map[context.Context]error{cancelled: context.Canceled, late: context.DeadlineExceeded} {
		if err := trouble(ctx, "admit", timeout); !errors.Is(err, want) || !errors.Is(err, timeout) {
			t.Errorf("%v, want %v and its cause in it", err, want)
		}
	}
}

func TestError_no_is_told_from_trouble(t *testing.T) {
	t.Parallel()
	call := canonical.CallName{ID: "c1"}
	for word, want := range map[string]error{
		"newer": canonical.ErrNewerVersion, "foreign": canonical.ErrForeign, "missing": canonical.ErrMissing, "conflict": canonical.ErrConflict,
	} {
		err := common("complete", call, reply{word: word, fields: []string{"READY"}})
		var no *canonical.RefusedError
		if !errors.As(err, &no) || !errors.Is(err, want) || no.Op != "complete" || no.Call != call {
			t.Errorf("%s gives %v, want a RefusedError around %v", word, err, want)
		}
	}
	err := common("complete", call, reply{word: "created"})
	if errors.As(err, new(*canonical.RefusedError)) || !errors.As(err, new(*ReplyError)) {
		t.Errorf("a word out of place gives %v, want trouble", err)
	}
	if !answered(serverError("ERR")) || answered(io.EOF) || answered(context.Canceled) || answered(nil) {
		t.Error("what a server said is not told from what the connection said")
	}
}
