package redisstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/toolharness/harness/redisstore"
)

// A number that the client would panic at, or take for a default, is refused
// with the name of its field before anything is dialled.
func TestDial_options_out_of_range(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]redisstore.Options{
		"PoolSize": {PoolSize: -1}, "MaxRetries": {MaxRetries: -2},
		"DialTimeout": {DialTimeout: -time.Second}, "IOTimeout": {IOTimeout: -1},
	} {
		_, err := redisstore.Dial(t.Context(), "redis://127.0.0.1:1", &o)
		if bad, ok := errors.AsType[*redisstore.OptionError](err); !ok || bad.Field != field {
			t.Errorf("%s: got %v, want an OptionError", field, err)
		}
	}
	_, err := redisstore.Dial(t.Context(), "redis://127.0.0.1:1", &redisstore.Options{PoolSize: 1 << 40})
	if bad, ok := errors.AsType[*redisstore.OptionError](err); !ok || bad.Field != "PoolSize" {
		t.Errorf("huge pool: got %v, want an OptionError", err)
	}
}
