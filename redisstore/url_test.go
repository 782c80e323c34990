package redisstore

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestAddress_forms(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]target{
		"redis://localhost":               {form: formSingle, addrs: []string{"localhost:6379"}},
		"redis://localhost:7000/3":        {form: formSingle, addrs: []string{"localhost:7000"}, db: 3},
		"redis://localhost/?db=4":         {form: formSingle, addrs: []string{"localhost:6379"}, db: 4},
		"redis://u:p@h/0":                 {form: formSingle, addrs: []string{"h:6379"}, user: "u", password: "p"},
		"redis://:p@h":                    {form: formSingle, addrs: []string{"h:6379"}, password: "p"},
		"redis://u:p%40%2F%3a@h":          {form: formSingle, addrs: []string{"h:6379"}, user: "u", password: "p@/:"},
		"redis://u:a/b@c@h:1":             {form: formSingle, addrs: []string{"h:1"}, user: "u", password: "a/b@c"},
		"redis://[::1]:7000":              {form: formSingle, addrs: []string{"[::1]:7000"}},
		"redis://[::1]":                   {form: formSingle, addrs: []string{"[::1]:6379"}},
		"rediss://h":                      {form: formSingle, tls: true, addrs: []string{"h:6379"}},
		"unix:///run/redis.sock":          {form: formSocket, addrs: []string{"/run/redis.sock"}},
		"unix://u:p@/run/redis.sock?db=2": {form: formSocket, addrs: []string{"/run/redis.sock"}, user: "u", password: "p", db: 2},
		"redis+sentinel://a,b:2/m":        {form: formSentinel, addrs: []string{"a:26379", "b:2"}, master: "m"},
		"rediss+sentinel://u:p@a/m?db=1":  {form: formSentinel, tls: true, addrs: []string{"a:26379"}, master: "m", user: "u", password: "p", db: 1},
		"redis+sentinel://a/m?sentinel_username=s&sentinel_password=q%26": {form: formSentinel, addrs: []string{"a:26379"}, master: "m", sentinelUser: "s", sentinelPassword: "q&"},
		"redis+cluster://a:1,b:2,[::1]:3":                                 {form: formCluster, addrs: []string{"a:1", "b:2", "[::1]:3"}},
		"rediss+cluster://u:p@a/":                                         {form: formCluster, tls: true, addrs: []string{"a:6379"}, user: "u", password: "p"},
	} {
		got, err := parseTarget(address)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %+v, %v; want %+v", address, got, err, want)
		}
	}
}

func TestAddress_refusals_repeat_nothing(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "localhost", "localhost:6379", "http://u:SECRET@h", "redis:/h", "REDIS://SECRET", "redis+://SECRET", "redissentinel://SECRET/m",
		"redis://u:SECRET@", "redis://u:SECRET@h:port", "redis://u:SECRET@h:0", "redis://u:SECRET@h:65536", "redis://u:SECRET@h:-1", "redis://SECRET:",
		"redis://u:SECRET%zz@h", "redis://SECRET%@h", "redis://u:SECRET@h/db", "redis://u:SECRET@h/-1", "redis://u:SECRET@h/1/2", "redis://SECRET h", "redis://h,SECRET",
		"redis://u:SECRET@h?pool_size=3", "redis://h?SECRET=1", "redis://h?db=SECRET", "redis://h?a;SECRET", "redis://h?%zzSECRET",
		"unix://", "unix://SECRET", "unix://SECRET/run", "unix:///run?master=SECRET",
		"redis+sentinel://u:SECRET@a", "redis+sentinel://a/", "redis+sentinel://a/SECRET/m", "redis+sentinel:///SECRET", "redis+sentinel://a,,SECRET/m",
		"redis+cluster://u:SECRET@a/3", "redis+cluster://a?db=1&x=SECRET", "redis+cluster://a,SECRET:x", "redis+cluster://a?sentinel_password=SECRET",
	} {
		got, err := parseTarget(address)
		var bad *URLError
		if !errors.As(err, &bad) || !reflect.DeepEqual(got, target{}) {
			t.Errorf("%q = %+v, %v; want a URLError alone", address, got, err)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: the error repeats it: %v", address, err)
		}
	}
}
