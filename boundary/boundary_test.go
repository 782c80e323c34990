package boundary_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func TestNew(t *testing.T) {
	t.Parallel()
	store := fakes.NewStore(fakes.NewClock())
	good := boundary.Config{Store: store, Authorizer: boundary.AllowAll{}}
	if b, err := boundary.New(good); err != nil || b == nil {
		t.Fatalf("New: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*boundary.Config)
		want   []string // in the error
	}{
		"no store":       {func(c *boundary.Config) { c.Store = nil }, []string{"no Store"}},
		"no authorizer":  {func(c *boundary.Config) { c.Authorizer = nil }, []string{"no Authorizer"}},
		"life":           {func(c *boundary.Config) { c.Limits.RecordTTL = -time.Second }, []string{"RecordTTL"}},
		"short life":     {func(c *boundary.Config) { c.Limits.RecordTTL = 39 * time.Second }, []string{"RecordTTL", "39s"}},
		"sizes":          {func(c *boundary.Config) { c.Limits.RawBytes = 6 << 20 }, []string{"RecordBytes"}},
		"quota":          {func(c *boundary.Config) { c.ScopeQuota.Records = -1 }, []string{"quota.records"}},
		"large quota":    {func(c *boundary.Config) { c.ScopeQuota.Bytes = canonical.MaxQuota + 1 }, []string{"quota.bytes"}},
		"code built in":  {func(c *boundary.Config) { c.Codes = map[lifecycle.Code]string{lifecycle.Unauthorized: "x"} }, []string{"UNAUTHORIZED"}},
		"code malformed": {func(c *boundary.Config) { c.Codes = map[lifecycle.Code]string{"no code": "x"} }, []string{"does not match"}},
		"everything": {func(c *boundary.Config) {
			*c = boundary.Config{Limits: canonical.Limits{RecordTTL: time.Microsecond, RawBytes: -1}, Codes: map[lifecycle.Code]string{"A": ""}}
		}, []string{"Store", "Authorizer", "RecordTTL", "RawBytes", "message"}},
	} {
		config := good
		c.change(&config)
		b, err := boundary.New(config)
		if _, ok := errors.AsType[*boundary.ConfigError](err); !ok || b != nil {
			t.Errorf("%s: New gave %v, %v, want a ConfigError", name, b, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error %q does not name %q", name, err, want)
			}
		}
	}
	_, err := boundary.New(boundary.Config{Store: store, Authorizer: boundary.AllowAll{}, Limits: canonical.Limits{RawBytes: -1}})
	if _, ok := errors.AsType[*canonical.LimitsError](err); !ok {
		t.Errorf("New: %v, want a LimitsError within reach", err)
	}
}

// The configuration's limits are those of its runs, defaults filled in.
func TestNew_limits_reach_the_store(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t), setup{config: boundary.Config{Limits: canonical.Limits{AgentBytes: 123}}})
	want := canonical.DefaultLimits()
	want.AgentBytes = 123
	if got := b.state().Limits; got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
}
