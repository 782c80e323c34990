package demo

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/recording"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
)

func TestTupleValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"[(1,)]":                             {"1"},
		"[('USA', 523.0600000000003)]":       {"'USA'", "523.0600000000003"},
		"[('a, b', -1.5e3, None, 'it (x)')]": {"'a, b'", "-1.5e3", "None", "'it (x)'"},
		"[()]":                               nil,
		"[]":                                 nil,
		"":                                   nil,
		"USA":                                nil,
		"[(1,)":                              nil,
	} {
		if got := tupleValues(text); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestEqualValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  any
		want string
		same bool
	}{
		{"USA", "'USA'", true}, {"USA", "USA", false}, {"USA", "'Usa'", false}, {"1", "1", false}, {"", "''", true},
		{1.0, "1", true}, {523.06, "523.0600000000003", true}, {523.06, "523.0601", false}, {1.0, "'1'", false}, {1.0, "None", false},
		{nil, "None", false}, {true, "True", false}, {[]any{1.0}, "1", false},
	} {
		if got := equalValue(c.got, c.want); got != c.same {
			t.Errorf("%v and %s: got %t, want %t", c.got, c.want, got, c.same)
		}
	}
}

func TestCompareRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ raw, tuple, problem string }{
		"same":          {`{"rows":[["USA",523.06]]}`, "[('USA', 523.06)]", ""},
		"other value":   {`{"rows":[["USA",523.07]]}`, "[('USA', 523.06)]", "value 2"},
		"other order":   {`{"rows":[[523.06,"USA"]]}`, "[('USA', 523.06)]", "value 1"},
		"wider":         {`{"rows":[["USA",523.06,1]]}`, "[('USA', 523.06)]", "as many values"},
		"two rows":      {`{"rows":[["USA",523.06],["USA",523.06]]}`, "[('USA', 523.06)]", "not one row"},
		"no rows":       {`{"rows":[]}`, "[()]", "not one row"},
		"an empty row":  {`{"rows":[[]]}`, "[()]", "as many values"},
		"cut":           {`{"rows":[["USA",523.06]],"truncated":true}`, "[('USA', 523.06)]", "not one row"},
		"another shape": {`{"error":"x"}`, "[('USA', 523.06)]", "not one row"},
		"no JSON":       {`[('USA', 523.06)]`, "[('USA', 523.06)]", "not one row"},
		"several rows":  {`{"rows":[[1]]}`, "[(1,), (2,)]", "as many values"},
	} {
		err := compareRow(c.raw, c.tuple)
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: got %v, want %q", name, err, c.problem)
		}
	}
}

func TestCompareNearest(t *testing.T) {
	t.Parallel()
	const recorded = "Alice In Chains\n\nAisha Duo"
	for raw, same := range map[string]bool{
		`{"names":[{"name":"Alice In Chains"},{"name":"Other"}]}`: true,
		`{"names":[{"name":"Other"},{"name":"Alice In Chains"}]}`: false,
		`{"names":[]}`:         false,
		`{"error":"no index"}`: false,
		`Alice In Chains`:      false,
		``:                     false,
	} {
		if err := compareNearest(raw, recorded); (err == nil) != same {
			t.Errorf("%s: got %v, want the same name: %t", raw, err, same)
		}
	}
}

// Each kind of result is compared in its own way, and a query takes the published result that belongs to its id.
func TestCompareResult(t *testing.T) {
	t.Parallel()
	const row = `{"rows":[[1]]}`
	for name, c := range map[string]struct {
		raw  string
		call recording.Call
		kind string
		ok   bool
		left int // published results that no call has taken
	}{
		"text":               {"Album", recording.Call{Tool: sqlagent.NameListTables, Recorded: "Album", HasResult: true}, kindText, true, 1},
		"another text":       {"Album ", recording.Call{Tool: sqlagent.NameListTables, Recorded: "Album", HasResult: true}, kindText, false, 1},
		"none recorded":      {"anything", recording.Call{Tool: sqlagent.NameListTables}, kindNone, true, 1},
		"search":             {`{"names":[{"name":"A"}]}`, recording.Call{Tool: sqlagent.NameProperNouns, Recorded: "A\n\nB", HasResult: true}, kindSearch, true, 1},
		"query":              {row, recording.Call{ID: "q", Tool: sqlagent.NameQuery, Recorded: "[(1,)]", HasResult: true}, kindQuery, true, 0},
		"query, recorded":    {row, recording.Call{ID: "q", Tool: sqlagent.NameQuery, Recorded: "[(2,)]", HasResult: true}, kindQuery, false, 0},
		"query, unpublished": {row, recording.Call{ID: "r", Tool: sqlagent.NameQuery, Recorded: "[(1,)]", HasResult: true}, kindQuery, false, 1},
		"query, not run":     {`{"rows":[]}`, recording.Call{ID: "q", Tool: sqlagent.NameQuery, Recorded: "[(1,)]", HasResult: true}, kindQuery, false, 0},
	} {
		published := map[string]string{"q": "[(1,)]"}
		kind, err := compareResult(c.raw, c.call, published)
		if kind != c.kind || (err == nil) != c.ok || len(published) != c.left {
			t.Errorf("%s: got %s, %v, %d left, want %s, %t, %d", name, kind, err, len(published), c.kind, c.ok, c.left)
		}
	}
	if err := unused(map[string]string{"b": "", "a": ""}); err == nil || !strings.HasSuffix(err.Error(), "a, b") {
		t.Errorf("got %v, want both ids in order", err)
	}
	if err := unused(nil); err != nil {
		t.Errorf("got %v", err)
	}
}
