package redisstore_test

import (
	"testing"

	"github.com/toolharness/harness/internal/redistest"
)

func TestDial_sentinel(t *testing.T) {
	t.Parallel()
	g := redistest.Replicated(t, 0)
	p := g.Sentinel(t, "sentinel auth-pass "+redistest.MasterName+" pass", "user default off", "user watcher on >seen allchannels +@all")
	if err := g.Primary.Client().ConfigSet(ctx, "requirepass", "pass").Err(); err != nil {
		t.Fatal(err)
	}
	s := dial(t, "redis+sentinel://:pass@"+p.Addr()+"/"+redistest.MasterName+"?db=1&sentinel_username=watcher&sentinel_password=seen", nil)
	works(t, s, "r")
	report, err := s.Health(ctx)
	if err != nil || !report.OK() || report.Cluster || report.Masters != 1 {
		t.Errorf("health = %+v, %v", report, err)
	}
}
