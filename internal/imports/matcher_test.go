package imports

import (
	"slices"
	"strings"
	"testing"
)

// bad is a made-up module in which one package breaks each kind of rule.
func bad() graph {
	g := graph{imports: map[string][]string{
		"m/leaf":        {"fmt"},
		"m/store":       {"m/leaf", "redis"},
		"m/middle":      {"m/leaf", "m/sneaky"},
		"m/sneaky":      {"other/wrapper"},
		"m/program":     {"m/store"},
		"m/both":        {"m/store", "redis/pool"},
		"m/new":         {"fmt"},
		"m/loop":        {"m/loop2"},
		"m/loop2":       {"m/loop"},
		"m/redisish":    {"redis-like"},
		"other/wrapper": {"redis"},
	}}
	for p := range g.imports {
		if matches(p, "m/...") {
			g.ours = append(g.ours, p)
		}
	}
	slices.Sort(g.ours)
	return g
}

func TestBan_on_a_bad_graph(t *testing.T) {
	t.Parallel()
	target := []string{"redis/..."}
	for name, c := range map[string]struct {
		ban  ban
		want []string
	}{
		"only store and what stands behind it": {
			ban{target: target, allowed: []string{"m/store"}, through: true, reason: "why"},
			[]string{
				"m/both -> redis/pool: why",
				"m/middle -> m/sneaky -> other/wrapper -> redis: why",
				"m/sneaky -> other/wrapper -> redis: why",
			},
		},
		"nobody may even link it": {
			ban{target: target, allowed: []string{"m/store"}, reason: "why"},
			[]string{
				"m/both -> redis/pool: why",
				"m/middle -> m/sneaky -> other/wrapper -> redis: why",
				"m/program -> m/store -> redis: why",
				"m/sneaky -> other/wrapper -> redis: why",
			},
		},
		"binds one package only": {
			ban{target: target, from: []string{"m/leaf", "m/middle"}, reason: "why"},
			[]string{"m/middle -> m/sneaky -> other/wrapper -> redis: why"},
		},
		"nothing reaches it": {ban{target: []string{"zap/..."}, reason: "why"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.ban.violations(bad()); !slices.Equal(got, c.want) {
				t.Errorf("violations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestArrows_on_a_bad_graph(t *testing.T) {
	t.Parallel()
	arrows := []arrow{
		{"m/leaf", nil},
		{"m/store", []string{"m/leaf"}},
		{"m/middle", []string{"m/leaf"}},
		{"m/program", []string{"m/..."}},
		{"m/both", []string{"m/store"}},
		{"m/sneaky", nil},
		{"m/redisish", nil},
		{"m/loop", []string{"m/loop2"}},
		{"m/loop2", []string{"m/loop"}},
	}
	want := []string{
		"m/both -> m/store -> m/leaf: the arrow of m/both does not allow it",
		"m/middle -> m/sneaky: the arrow of m/middle does not allow it",
		"m/new: no arrow says whom it may know; add one",
	}
	if got := arrowViolations(bad(), arrows, "m/..."); !slices.Equal(got, want) {
		t.Errorf("violations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestArrowOf_prefers_the_closest_row(t *testing.T) {
	t.Parallel()
	arrows := []arrow{{"m/...", nil}, {"m/a/...", nil}, {"m/a/b", nil}}
	for pkg, want := range map[string]string{"m/a/b": "m/a/b", "m/a/c": "m/a/...", "m/a": "m/a/...", "m/z": "m/...", "n": ""} {
		got, found := arrowOf(pkg, arrows)
		if got.pkg != want || found != (want != "") {
			t.Errorf("arrowOf(%q) = %q, %v, want %q", pkg, got.pkg, found, want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, pattern string
		want          bool
	}{
		{"a/b", "a/b", true},
		{"a/b/c", "a/b", false},
		{"a/b", "a/b/...", true},
		{"a/b/c", "a/b/...", true},
		{"a/bc", "a/b/...", false},
		{"a", "a/b/...", false},
		{"testing", "testing", true},
		{"testing/fstest", "testing", false},
	} {
		if got := matches(c.path, c.pattern); got != c.want {
			t.Errorf("matches(%q, %q) = %v, want %v", c.path, c.pattern, got, c.want)
		}
	}
}

func TestReadGraph(t *testing.T) {
	t.Parallel()
	g, err := readGraph(strings.NewReader(`{"ImportPath":"m/b","Imports":["fmt"]}{"ImportPath":"fmt"}{"ImportPath":"m","Imports":["m/b"]}{"ImportPath":"mm"}`), "m")
	if err != nil || !slices.Equal(g.ours, []string{"m", "m/b"}) || !slices.Equal(g.imports["m"], []string{"m/b"}) {
		t.Errorf("graph %+v, error %v", g, err)
	}
	for _, text := range []string{"", `{"ImportPath":"fmt"}`, `{"ImportPath":`} {
		if g, err := readGraph(strings.NewReader(text), "m"); err == nil {
			t.Errorf("%q gave %+v, want an error", text, g)
		}
	}
}
