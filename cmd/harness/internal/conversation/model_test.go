package conversation_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// modelCall is a call of an invented conversation; a model of the reader needs no more.
type modelCall struct {
	id, name, arguments, result string
	answered                    bool
}

// modelTurn is a message of the model with its calls, and the order in which the results came.
type modelTurn struct {
	calls []modelCall
	order []int
}

// invent makes a conversation as providers allow it: results follow their message, in any order, and some never come.
// Few ids and names, so that both repeat; within one message ids differ unless there are none.
func invent(rng *rand.Rand, withIDs bool, prefix string) []modelTurn {
	var turns []modelTurn
	for range 1 + rng.IntN(5) {
		var turn modelTurn
		for i := range 1 + rng.IntN(3) {
			c := modelCall{name: "f" + itoa(rng.IntN(2)), arguments: `{"n":` + itoa(rng.IntN(3)) + `}`, result: `{"r":` + itoa(rng.IntN(100)) + `}`, answered: rng.IntN(5) > 0}
			if withIDs {
				c.id = prefix + itoa(3*rng.IntN(2)+i)
			}
			turn.calls = append(turn.calls, c)
		}
		turn.order = rng.Perm(len(turn.calls))
		if !withIDs { // order alone must tell: results keep the order of their calls, and what is missing is the last
			missing := false
			for i := range turn.calls {
				c := &turn.calls[i]
				c.answered = c.answered && !missing
				missing = !c.answered
				turn.order[i] = i
			}
		}
		turns = append(turns, turn)
	}
	return turns
}

// writer writes one call of a message, one message of the model, and what answers it.
type writer struct {
	call, message, result, answer string
	joined                        bool // all results stand in one message
}

func writers() map[string]writer {
	return map[string]writer{
		"chat": {call: `{"id":%[1]q,"type":"function","function":{"name":%[2]q,"arguments":%[3]q}}`, message: `{"role":"assistant","content":null,"tool_calls":[%s]}`,
			result: `{"role":"tool","tool_call_id":%[1]q,"name":%[2]q,"content":%[4]q}`, answer: `%s`},
		"anthropic": {call: `{"type":"tool_use","id":%[1]q,"name":%[2]q,"input":%[3]s}`, message: `{"role":"assistant","content":[{"type":"text","text":"t"},%s]}`,
			result: `{"type":"tool_result","tool_use_id":%[1]q,"content":%[4]q}`, answer: `{"role":"user","content":[%s]}`, joined: true},
		"bedrock": {call: `{"toolUse":{"toolUseId":%[1]q,"name":%[2]q,"input":%[3]s}}`, message: `{"role":"assistant","content":[%s]}`,
			result: `{"toolResult":{"toolUseId":%[1]q,"content":%[4]s}}`, answer: `{"role":"user","content":[%s]}`, joined: true},
		"gemini": {call: `{"functionCall":{"id":%[1]q,"name":%[2]q,"args":%[3]s}}`, message: `{"role":"model","parts":[%s]}`,
			result: `{"functionResponse":{"id":%[1]q,"name":%[2]q,"response":%[4]s}}`, answer: `{"role":"user","parts":[%s]}`, joined: true},
		"responses": {call: `{"type":"function_call","call_id":%[1]q,"name":%[2]q,"arguments":%[3]q}`, message: `%s`,
			result: `{"type":"function_call_output","call_id":%[1]q,"output":%[4]q}`, answer: `%s`},
	}
}

// write gives the messages of a conversation, each turn behind a message of the user, and what is to be read from them.
func (w writer) write(turns []modelTurn) (messages []string, want string) {
	var b strings.Builder
	for _, turn := range turns {
		messages = append(messages, `{"role":"user","content":"go on"}`)
		at := len(messages)
		var calls, results []string
		for _, c := range turn.calls {
			calls = append(calls, fmt.Sprintf(w.call, c.id, c.name, c.arguments, c.result))
			fmt.Fprintf(&b, "%d|%s|%s|%s|", at, c.id, c.name, c.arguments)
			if c.answered {
				b.WriteString(c.result + "\n")
			} else {
				b.WriteString("{}|none\n")
			}
		}
		for _, i := range turn.order {
			if c := turn.calls[i]; c.answered {
				results = append(results, fmt.Sprintf(w.result, c.id, c.name, c.arguments, c.result))
			}
		}
		if w.message == "%s" {
			messages = append(messages, calls...)
		} else {
			messages = append(messages, fmt.Sprintf(w.message, strings.Join(calls, ",")))
		}
		if w.joined && len(results) > 0 {
			results = []string{fmt.Sprintf(w.answer, strings.Join(results, ","))}
		}
		messages = append(messages, results...)
	}
	return messages, b.String() + "--\n"
}

const seeds = 60

// Random conversations, written in the words of every provider, are read as they were invented.
func TestInventedConversations(t *testing.T) {
	t.Parallel()
	for name, w := range writers() {
		for _, withIDs := range []bool{true, false} {
			t.Run(name+"_ids_"+fmt.Sprint(withIDs), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(seeds) {
					messages, want := w.write(invent(rand.New(rand.NewPCG(seed, 7)), withIDs, "id"))
					for _, text := range []string{"[" + strings.Join(messages, ",") + "]", strings.Join(messages, "\n"), `{"run":{"x":[` + strings.Join(messages, ",\n") + `]}}`} {
						if got := plain(read(t, []byte(text))); got != want {
							t.Fatalf("seed %d: got\n%swant\n%sfrom\n%s", seed, got, want, text)
						}
					}
				}
			})
		}
	}
}

// Recordings of random conversations, whose requests repeat more and more of the history, give each call once; two
// conversations in turns in one recording stay two.
func TestInventedRecordings(t *testing.T) {
	t.Parallel()
	for name, w := range writers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := map[string]string{"gemini": "contents", "responses": "input"}[name]
			if list == "" {
				list = "messages"
			}
			body := func(messages []string) string {
				return `{"model":"m","` + list + `":[` + strings.Join(messages, ",") + `]}`
			}
			for seed := range uint64(seeds) {
				rng := rand.New(rand.NewPCG(seed, 8))
				first, second := invent(rng, true, "a"), invent(rng, true, "b")
				one, wantOne := w.write(first)
				two, wantTwo := w.write(second)
				var bodies []string
				add := func(turns []modelTurn) {
					messages, _ := w.write(turns)
					bodies = append(bodies, body(messages), "null")
					if rng.IntN(4) == 0 { // sent again
						bodies = append(bodies, quote(body(messages)), "null")
					}
				}
				for n := range max(len(first), len(second)) {
					if n < len(first) {
						add(first[:n+1])
					}
					if n < len(second) {
						add(second[:n+1])
					}
				}
				if got := plain(read(t, []byte(exchangesOf(bodies...)))); got != wantOne+wantTwo {
					t.Fatalf("seed %d: got\n%swant\n%s%sfrom\n%s", seed, got, wantOne, wantTwo, exchangesOf(bodies...))
				}
				var log []string
				for i := 0; i < len(one); i++ {
					log = append(log, body(one[:i+1]))
				}
				log = append(log, body(two))
				if got := plain(read(t, []byte(strings.Join(log, "\n")))); got != wantOne+wantTwo {
					t.Fatalf("seed %d as a log: got\n%swant\n%s%s", seed, got, wantOne, wantTwo)
				}
			}
		})
	}
}

// A window over the history, of which each request drops the start, is joined again where no call repeats exactly.
func TestInventedWindows(t *testing.T) {
	t.Parallel()
	for name, w := range writers() {
		if name == "responses" || name == "gemini" {
			continue // the same list under another name
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seeds) {
				rng := rand.New(rand.NewPCG(seed, 9))
				turns := invent(rng, true, "a")
				for i := range turns { // no two turns share an id
					for j := range turns[i].calls {
						turns[i].calls[j].id = "a" + itoa(i) + "_" + itoa(j)
					}
				}
				var bodies []string
				for end := range turns {
					messages, _ := w.write(turns[max(0, end-1-rng.IntN(2)) : end+1])
					bodies = append(bodies, `{"messages":[`+strings.Join(messages, ",")+`]}`, "null")
				}
				_, want := w.write(turns)
				if got := plain(read(t, []byte(exchangesOf(bodies...)))); places(got) != places(want) {
					t.Fatalf("seed %d: got\n%swant\n%sfrom\n%s", seed, got, want, exchangesOf(bodies...))
				}
			}
		})
	}
}

// places leaves out the turns, which a window moves, but keeps which calls share one.
func places(text string) string {
	var b strings.Builder
	last := ""
	for line := range strings.Lines(text) {
		turn, rest, _ := strings.Cut(line, "|")
		if turn != last {
			b.WriteString("turn\n")
		}
		last = turn
		b.WriteString(rest)
	}
	return b.String()
}
