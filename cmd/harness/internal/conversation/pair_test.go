package conversation_test

import (
	"strings"
	"testing"
)

// chatOf builds a chat: "a:f" is a message of the model with calls of those ids and names, ">a=x" the result x for id a,
// ">f:x" the result x for a function f without an id, "." the user.
func chatOf(words string) string {
	var messages []string
	for _, word := range strings.Fields(words) {
		if result, ok := strings.CutPrefix(word, ">"); ok {
			if id, text, withID := strings.Cut(result, "="); withID {
				messages = append(messages, `{"role":"tool","tool_call_id":"`+id+`","content":"`+text+`"}`)
				continue
			}
			name, text, _ := strings.Cut(result, ":")
			messages = append(messages, `{"role":"tool","name":"`+name+`","content":"`+text+`"}`)
			continue
		}
		if word == "." {
			messages = append(messages, `{"role":"user","content":"go on"}`)
			continue
		}
		var calls []string
		for _, call := range strings.Split(word, ",") {
			id, name, _ := strings.Cut(call, ":")
			calls = append(calls, `{"id":"`+id+`","function":{"name":"`+name+`","arguments":"{}"}}`)
		}
		messages = append(messages, `{"role":"assistant","tool_calls":[`+strings.Join(calls, ",")+`]}`)
	}
	return `{"messages":[` + strings.Join(messages, ",") + `]}`
}

func TestPairing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ chat, want string }{
		"one id for three calls, each answered": {"a:f >a=1 a:f >a=2 a:g >a=3", `
			0 "a" f({}) -> 1
			2 "a" f({}) -> 2
			4 "a" g({}) -> 3`},
		"one id twice in one message": {"a:f,a:f >a=1 >a=2", `
			0 "a" f({}) -> 1
			0 "a" f({}) -> 2`},
		"an abandoned call does not take the next one's result": {"a:f . a:f >a=2", `
			0 "a" f({}) no result
			2 "a" f({}) -> 2`},
		"calls in messages that follow each other are one batch": {"a:f a:f >a=1 >a=2", `
			0 "a" f({}) -> 1
			1 "a" f({}) -> 2`},
		"a late result goes to the call that is left": {"a:f . a:f >a=2 >a=1", `
			0 "a" f({}) -> 1
			2 "a" f({}) -> 2`},
		"results in another order": {"a:f,b:f,c:g >c=3 >a=1 >b=2", `
			0 "a" f({}) -> 1
			0 "b" f({}) -> 2
			0 "c" g({}) -> 3`},
		"without ids by name": {":f,:g,:f >g:2 >f:1 >f:3", `
			0 "" f({}) -> 1
			0 "" g({}) -> 2
			0 "" f({}) -> 3`},
		"without ids an abandoned call is left": {":f :g >g:1 . :f >f:2", `
			0 "" f({}) no result
			1 "" g({}) -> 1
			4 "" f({}) -> 2`},
		"without id and name by order": {":f,:g >:1 >:2", `
			0 "" f({}) -> 1
			0 "" g({}) -> 2`},
		"a result that has lost its id": {"a:f,b:g >g:2 >f:1", `
			0 "a" f({}) -> 1
			0 "b" g({}) -> 2`},
		"a result never goes to a call with another id": {"a:f >b=1", `
			unmatched 1
			0 "a" f({}) no result`},
		"a second result for one call belongs to none": {"a:f >a=1 >a=2", `
			unmatched 1
			0 "a" f({}) -> 1`},
		"a result before its call belongs to none": {">a=1 a:f", `
			unmatched 1
			1 "a" f({}) no result`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			head := "line 1"
			want := strings.TrimSpace(test.want)
			if rest, ok := strings.CutPrefix(want, "unmatched 1"); ok {
				head, want = "line 1 unmatched 1 outside 0", strings.TrimSpace(rest)
			}
			check(t, chatOf(test.chat), head+"\n"+want)
		})
	}
}

// One id for thousands of calls that all wait, answered one by one: each takes the place that is left for it.
func TestPairingOfManyCalls(t *testing.T) {
	t.Parallel()
	const n = 5_000
	all := chatOf(strings.Repeat("a:f . ", n) + strings.Repeat(">a=1 ", n+1))
	var want strings.Builder
	want.WriteString("line 1 unmatched 1 outside 0\n")
	for i := range n {
		want.WriteString(itoa(2*i) + ` "a" f({}) -> 1` + "\n")
	}
	check(t, all, want.String())
}
