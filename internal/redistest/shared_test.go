package redistest_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
)

func TestShared_one_server_separate_databases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, b := redistest.Shared(t), redistest.Shared(t)
	if a.Addr() != b.Addr() || a.DB() == b.DB() {
		t.Fatalf("holders at %s/%d and %s/%d, want one server, two databases", a.Addr(), a.DB(), b.Addr(), b.DB())
	}
	set(t, a.Client(), "mine", 0)
	if keys := b.Client().Keys(ctx, "*").Val(); len(keys) != 0 {
		t.Errorf("the other holder sees %q, want nothing", keys)
	}
	o, err := redis.ParseURL(a.URL())
	if err != nil || o.Addr != a.Addr() || o.DB != a.DB() {
		t.Errorf("ParseURL(%q) = %+v, %v", a.URL(), o, err)
	}
}

func TestShared_a_database_comes_back_empty(t *testing.T) {
	t.Parallel()
	keep := redistest.Shared(t) // the server stays while this one is held
	used := map[int]bool{}
	for range 3 {
		t.Run("holder", func(t *testing.T) {
			d := redistest.Shared(t)
			if d.Addr() != keep.Addr() {
				t.Errorf("another server at %s, want %s", d.Addr(), keep.Addr())
			}
			if keys := d.Client().Keys(context.Background(), "*").Val(); len(keys) != 0 {
				t.Errorf("keys %q, want none", keys)
			}
			set(t, d.Client(), "left over", 0)
			used[d.DB()] = true
		})
	}
	if len(used) == 0 {
		t.Error("no database was handed out")
	}
}

func TestShared_every_database_can_be_out_at_once(t *testing.T) {
	t.Parallel()
	held := map[int]bool{}
	// Other tests of this binary hold some; a quarter is free whatever they do.
	for range redistest.Databases / 4 {
		d := redistest.Shared(t)
		if held[d.DB()] {
			t.Fatalf("database %d was handed out twice", d.DB())
		}
		held[d.DB()] = true
	}
}
