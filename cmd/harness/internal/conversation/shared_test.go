package conversation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/conversation"
	"github.com/toolharness/harness/internal/vectors"
)

// sharedData is the folder of one of the recorded sets, which are too large to live here.
func sharedData(t *testing.T, set string) string {
	t.Helper()
	return vectors.Outside(t, set)
}

func load(t *testing.T, folder, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}

// read reads under a name that says nothing, since the format must come from the content.
func read(t *testing.T, data []byte) []conversation.Conversation {
	t.Helper()
	all, err := conversation.Read("x", data)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// count is what the sets say about themselves.
type count struct{ conversations, calls, results, noID, unanswered, repeated, repeatedInTurn, strays int }

func counted(all []conversation.Conversation) count {
	c := count{conversations: len(all)}
	for _, one := range all {
		ids, inTurn := map[string]bool{}, map[[2]string]bool{}
		c.strays += one.Unmatched
		for _, call := range one.Calls {
			c.calls++
			if call.HasResult {
				c.results++
			} else {
				c.unanswered++
			}
			name := [2]string{itoa(call.Turn), call.ID}
			switch {
			case call.ID == "":
				c.noID++
			case inTurn[name]:
				c.repeatedInTurn++
				fallthrough
			case ids[call.ID]:
				c.repeated++
			}
			ids[call.ID], inTurn[name] = true, true
		}
	}
	return c
}

// callsOf are the calls of all conversations.
func callsOf(all []conversation.Conversation) []conversation.Call {
	var calls []conversation.Call
	for _, c := range all {
		calls = append(calls, c.Calls...)
	}
	return calls
}

// tally counts strings; distinct is the number of those that are not empty.
func tally(calls []conversation.Call, of func(conversation.Call) string) map[string]int {
	m := map[string]int{}
	for _, c := range calls {
		m[of(c)]++
	}
	return m
}

func byName(c conversation.Call) string { return c.Name }
func byID(c conversation.Call) string   { return c.ID }

func distinct(calls []conversation.Call) int {
	m := tally(calls, byID)
	delete(m, "")
	return len(m)
}

func largest(calls []conversation.Call, of func(conversation.Call) []byte) int {
	n := 0
	for _, c := range calls {
		n = max(n, len(of(c)))
	}
	return n
}

// groups counts how many messages ask for how many calls at once.
func groups(all []conversation.Conversation) map[string]int {
	sizes := map[string]int{}
	for _, c := range all {
		for _, n := range tally(c.Calls, func(c conversation.Call) string { return itoa(c.Turn) }) {
			sizes[itoa(n)]++
		}
	}
	return sizes
}

// same compares what both sides print; nil and empty lists print alike, and maps in the order of their keys.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
	if g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func compacted(text []byte) string {
	var b bytes.Buffer
	if len(text) == 0 {
		return "{}"
	}
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

func TestSharedData_tau_bench_airline(t *testing.T) {
	t.Parallel()
	folder := sharedData(t, "tau-bench-airline")
	var want struct {
		Conversations, Calls, Results int
		SameID                        int            `json:"same_id_in_conversation"`
		SameIDOther                   int            `json:"same_id_different_call"`
		SameIDSame                    int            `json:"same_id_same_call"`
		Reused                        int            `json:"conversations_with_reused_id"`
		Distinct                      int            `json:"distinct_ids"`
		MaxUses                       int            `json:"max_uses_of_one_id"`
		MaxArgs                       int            `json:"max_args_bytes"`
		MaxResult                     int            `json:"max_result_bytes"`
		ByTool                        map[string]int `json:"calls_by_tool"`
	}
	decode(t, load(t, folder, "expected.json"), &want)
	data := load(t, folder, "conversations.jsonl")
	all := read(t, data)
	same(t, "counts", counted(all), count{conversations: want.Conversations, calls: want.Calls, results: want.Results, repeated: want.SameID})
	calls := callsOf(all)
	same(t, "by tool", tally(calls, byName), want.ByTool)
	same(t, "distinct ids", distinct(calls), want.Distinct)
	same(t, "uses of one id", slices.Max(slices.Collect(maps.Values(tally(calls, byID)))), want.MaxUses)
	same(t, "largest arguments", largest(calls, func(c conversation.Call) []byte { return c.Arguments }), want.MaxArgs)
	same(t, "largest result", largest(calls, func(c conversation.Call) []byte { return c.Result }), want.MaxResult)
	reused, sameCall, otherCall := 0, 0, 0
	for _, c := range all {
		first, again := map[string]conversation.Call{}, false
		for _, call := range c.Calls {
			before, seen := first[call.ID]
			switch {
			case !seen:
				first[call.ID] = call
			case before.Name == call.Name && bytes.Equal(before.Arguments, call.Arguments):
				sameCall++
			default:
				otherCall++
			}
			again = again || seen
		}
		if again {
			reused++
		}
	}
	same(t, "reuse", []int{reused, sameCall, otherCall}, []int{want.Reused, want.SameIDSame, want.SameIDOther})
	exactChat(t, data, all)
}

// exactChat compares every byte with what the standard library reads, in files of one chat a line where each result
// follows its call.
func exactChat(t *testing.T, data []byte, all []conversation.Conversation) {
	t.Helper()
	number := 0
	for line := range bytes.Lines(data) {
		var chat struct {
			Messages []struct {
				Content   *string
				ToolCalls []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
				Role string
			}
		}
		decode(t, line, &chat)
		var want, got []string
		for i, m := range chat.Messages {
			for _, c := range m.ToolCalls {
				want = append(want, itoa(i), c.ID, c.Function.Name, c.Function.Arguments)
			}
			if m.Role == "tool" {
				want = append(want, *m.Content)
			}
		}
		for _, c := range all[number].Calls {
			got = append(got, itoa(c.Turn), c.ID, c.Name, string(c.Arguments))
			if c.HasResult {
				got = append(got, string(c.Result))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("line %d: the calls differ from the file", number+1)
		}
		number++
		if all[number-1].Line != number {
			t.Errorf("got line %d, want %d", all[number-1].Line, number)
		}
	}
}

func TestSharedData_pi_coding_sessions(t *testing.T) {
	t.Parallel()
	folder := sharedData(t, "pi-coding-sessions")
	var files map[string]struct {
		Calls, Results int
		Distinct       int            `json:"distinct_ids"`
		Without        []string       `json:"calls_without_result"`
		Strays         []string       `json:"results_without_call"`
		Groups         map[string]int `json:"parallel_group_sizes"`
		MaxArgs        int            `json:"max_args_bytes"`
		MaxResult      int            `json:"max_result_bytes"`
		ByTool         map[string]int `json:"calls_by_tool"`
	}
	decode(t, load(t, folder, "expected.json"), &files)
	for name, want := range files {
		all := read(t, load(t, folder, name))
		same(t, "counts", counted(all), count{conversations: 1, calls: want.Calls, results: want.Results, unanswered: len(want.Without), strays: len(want.Strays)})
		calls := callsOf(all)
		same(t, "distinct ids", distinct(calls), want.Distinct)
		same(t, "at once", groups(all), want.Groups)
		same(t, "by tool", tally(calls, byName), want.ByTool)
		same(t, "largest arguments", largest(calls, func(c conversation.Call) []byte { return c.Arguments }), want.MaxArgs)
		var without []string
		text := 0
		for _, c := range calls {
			if !c.HasResult {
				without = append(without, c.ID)
				continue
			}
			var blocks []struct{ Text string }
			decode(t, c.Result, &blocks)
			for _, b := range blocks {
				text = max(text, len(b.Text))
			}
		}
		slices.Sort(without)
		same(t, "without result", without, want.Without)
		same(t, "largest text of a result", text, want.MaxResult)
	}
}

func TestSharedData_swe_agent_trajectories(t *testing.T) {
	t.Parallel()
	folder := sharedData(t, "swe-agent-trajectories")
	var files map[string]struct {
		Calls, Results int
		Distinct       int            `json:"distinct_ids"`
		Twice          map[string]int `json:"ids_used_more_than_once"`
		MaxResult      int            `json:"max_result_bytes"`
		Pairs          []struct {
			First      int    `json:"first_call"`
			Second     int    `json:"second_call"`
			ID         string `json:"id"`
			SameCall   bool   `json:"same_name_and_args"`
			SameResult bool   `json:"same_result"`
		} `json:"pairs_sharing_an_id"`
	}
	decode(t, load(t, folder, "expected.json"), &files)
	for name, want := range files {
		calls := callsOf(read(t, load(t, folder, name)))
		repeated := 0
		for _, n := range want.Twice {
			repeated += n - 1
		}
		same(t, name, counted([]conversation.Conversation{{Calls: calls}}), count{conversations: 1, calls: want.Calls, results: want.Results, repeated: repeated})
		same(t, name+": distinct ids", distinct(calls), want.Distinct)
		same(t, name+": largest result", largest(calls, func(c conversation.Call) []byte { return c.Result }), want.MaxResult)
		for _, p := range want.Pairs {
			a, b := calls[p.First], calls[p.Second]
			got := []any{a.ID, b.ID, a.Name == b.Name && bytes.Equal(a.Arguments, b.Arguments), bytes.Equal(a.Result, b.Result)}
			same(t, name+": pair", got, []any{p.ID, p.ID, p.SameCall, p.SameResult})
		}
	}
}

func TestSharedData_langchain_sql_agent(t *testing.T) {
	t.Parallel()
	folder := sharedData(t, "langchain-sql-agent")
	var lines []struct {
		Line, Calls, Results int
		Without              []string `json:"calls_without_result"`
		Parallel             int      `json:"max_parallel"`
	}
	decode(t, load(t, folder, "expected.json"), &lines)
	data := load(t, folder, "conversations.jsonl")
	all := read(t, data)
	if len(all) != len(lines) {
		t.Fatalf("got %d conversations, want %d", len(all), len(lines))
	}
	for i, want := range lines {
		one := all[i : i+1]
		same(t, "counts", counted(one), count{conversations: 1, calls: want.Calls, results: want.Results, unanswered: len(want.Without)})
		same(t, "line", one[0].Line, want.Line)
		same(t, "at once", slices.Max(slices.Collect(maps.Keys(groups(one)))), itoa(want.Parallel))
		without := []string{}
		for _, c := range one[0].Calls {
			if !c.HasResult {
				without = append(without, c.ID)
			}
		}
		same(t, "without result", without, want.Without)
	}
	exactChat(t, data, all)
}

func TestSharedData_gemini_adk_sessions(t *testing.T) {
	t.Parallel()
	folder := sharedData(t, "gemini-adk-sessions")
	var files map[string]struct {
		Calls, Results int
		NoID           int `json:"calls_without_id"`
		Distinct       int `json:"distinct_ids"`
		Names          map[string]int
		Parallel       int `json:"max_parallel"`
	}
	decode(t, load(t, folder, "expected.json"), &files)
	for name, want := range files {
		all := read(t, load(t, folder, name))
		same(t, name, counted(all), count{conversations: 1, calls: want.Calls, results: want.Results, noID: want.NoID})
		calls := callsOf(all)
		same(t, name+": distinct ids", distinct(calls), want.Distinct)
		same(t, name+": names", tally(calls, byName), want.Names)
		same(t, name+": at once", slices.Max(slices.Collect(maps.Keys(groups(all)))), itoa(want.Parallel))
	}
}
