package redisstore

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolharness/harness/lifecycle"
)

// all is the table in the order of the verbs.
func (s scripts) all() []*script {
	return []*script{s.open, s.close, s.admit, s.save, s.complete, s.sweep, s.settle, s.resolve, s.delete, s.enlist, s.reserve, s.release, s.use, s.attach}
}

// header is what the comment of a script says.
type header struct {
	purpose    string
	keys, args []string // names
	kinds      []string // of the keys
	forms      []string // of the arguments
	open       bool
	replies    map[string][]string
	invariants int
}

var headings = []string{"KEYS", "ARGV", "REPLY", "INVARIANTS"}

// parseHeader reads the comment block that a script begins with. It fails the
// test where the sections are not there, or not in order.
func parseHeader(t *testing.T, sc *script) (header, []string) {
	t.Helper()
	h := header{replies: map[string][]string{}}
	lines := strings.Split(strings.TrimSuffix(sc.source, "\n"), "\n")
	section := 0
	for i, line := range lines {
		text, comment := strings.CutPrefix(line, "--")
		if !comment {
			if section != len(headings) {
				t.Fatalf("%s: the header has %d of the sections %v", sc.name, section, headings)
			}
			return h, lines[i:]
		}
		if section < len(headings) && text == " "+headings[section] {
			section++
			continue
		}
		h.line(t, sc.name, section, text)
	}
	t.Fatalf("%s: no code behind the header", sc.name)
	return h, nil
}

func (h *header) line(t *testing.T, name string, section int, text string) {
	t.Helper()
	words := strings.Fields(text)
	switch section {
	case 0:
		h.purpose += text
	case 1, 2:
		names, list := &h.keys, &h.kinds
		if section == 2 {
			names, list = &h.args, &h.forms
		}
		if len(words) < 4 {
			t.Fatalf("%s: %s line %q needs number, name, form and meaning", name, headings[section-1], text)
		}
		if got, want := words[0], strconv.Itoa(len(*names)+1); got != want {
			t.Errorf("%s: %s line %q has number %s, want %s", name, headings[section-1], text, got, want)
		}
		if words[1] == "..." {
			h.open = true
			return
		}
		*names, *list = append(*names, words[1]), append(*list, words[2])
	case 3:
		h.replies[words[0]] = words[1:]
	case 4:
		h.invariants++
	}
}

func TestLua_headers_say_what_the_table_says(t *testing.T) {
	t.Parallel()
	for _, sc := range newScripts().all() {
		h, _ := parseHeader(t, sc)
		if !strings.HasPrefix(h.purpose, " "+sc.name+" ") || !strings.Contains(h.purpose, ".") {
			t.Errorf("%s: the purpose %q is no sentence that begins with the verb", sc.name, h.purpose)
		}
		if len(h.keys) != sc.keys || len(h.args) != sc.args || h.open != sc.open {
			t.Errorf("%s: header has %d keys, %d arguments, open %v; the table %d, %d, %v", sc.name, len(h.keys), len(h.args), h.open, sc.keys, sc.args, sc.open)
		}
		for i, kind := range h.kinds {
			if kind != "hash" && kind != "zset" {
				t.Errorf("%s: key %s is a %q, want hash or zset", sc.name, h.keys[i], kind)
			}
		}
		for i, form := range h.forms {
			if !slices.Contains([]string{"int", "hex", "text", "words", "bytes", "pairs"}, form) {
				t.Errorf("%s: argument %s has the form %q", sc.name, h.args[i], form)
			}
		}
		if h.invariants == 0 {
			t.Errorf("%s: no invariants", sc.name)
		}
		for word, elements := range h.replies {
			want, known := sc.replies[word]
			fixed := slices.DeleteFunc(slices.Clone(elements), func(e string) bool { return strings.HasSuffix(e, "...") })
			if !known || len(fixed) != want[0] || (len(fixed) < len(elements)) != (len(want) > 1) {
				t.Errorf("%s: reply %q has the elements %v, the table %v", sc.name, word, elements, want)
			}
		}
		if len(h.replies) != len(sc.replies) {
			t.Errorf("%s: header has %d replies, the table %d", sc.name, len(h.replies), len(sc.replies))
		}
	}
}

var (
	slot      = regexp.MustCompile(`\b(KEYS|ARGV)\[(\d+)\]`)
	answer    = regexp.MustCompile(`(?:return \{|refuse\()'(\w+)'`)
	fromPhase = "return {phase}" // admit answers the run's phase
	command   = regexp.MustCompile(`redis\.call\(\s*'([A-Z]+)'`)
)

func TestLua_code_uses_what_the_header_declares(t *testing.T) {
	t.Parallel()
	for _, sc := range newScripts().all() {
		h, code := parseHeader(t, sc)
		text := strings.Join(code, "\n")
		if n := len(regexp.MustCompile(`(?m)^.*\S.*$`).FindAllString(text, -1)); n >= 60 {
			t.Errorf("%s has %d lines of code, want fewer than 60", sc.name, n)
		}
		used := map[string]bool{}
		bound := false // the lines that bind slots to names are over
		for _, line := range code {
			found := slot.FindAllStringSubmatch(line, -1)
			for _, m := range found {
				used[m[1]+m[2]] = true
				if bound && m[0] != "ARGV[1]" {
					t.Errorf("%s: slot %s is used by number behind the first lines: %q", sc.name, m[0], line)
				}
			}
			bound = bound || len(found) == 0
		}
		for i := range h.keys {
			if !used["KEYS"+strconv.Itoa(i+1)] {
				t.Errorf("%s: key %d (%s) is never bound", sc.name, i+1, h.keys[i])
			}
		}
		for i := range h.args {
			if !used["ARGV"+strconv.Itoa(i+1)] {
				t.Errorf("%s: argument %d (%s) is never bound", sc.name, i+1, h.args[i])
			}
		}
		if len(used) != sc.keys+sc.args {
			t.Errorf("%s: %d slots are bound, %d are declared", sc.name, len(used), sc.keys+sc.args)
		}
		if h.open != strings.Contains(text, "#ARGV") {
			t.Errorf("%s: whether more arguments follow differs between header (%v) and code", sc.name, h.open)
		}
		given := map[string]bool{}
		for _, m := range answer.FindAllStringSubmatch(text, -1) {
			given[m[1]] = true
		}
		if strings.Contains(text, fromPhase) {
			given["closed"], given["damaged"] = true, true
		}
		if strings.Contains(text, "local reply = {'closed'") {
			given["closed"] = true
		}
		for word := range sc.replies {
			if !given[word] {
				t.Errorf("%s: no code answers %q", sc.name, word)
			}
		}
		if len(given) != len(sc.replies) {
			t.Errorf("%s: code answers %d words, the table has %d", sc.name, len(given), len(sc.replies))
		}
	}
}

// allowed is every command that a script may issue.
var allowed = []string{"DEL", "HDEL", "HEXISTS", "HGET", "HINCRBY", "HKEYS", "HLEN", "HMGET", "HSET", "HSTRLEN", "PEXPIREAT",
	"TIME", "TYPE", "ZADD", "ZCOUNT", "ZRANGE", "ZRANGEBYSCORE", "ZREM", "ZSCORE"}

var forbidden = regexp.MustCompile(`\b(cjson|cmsgpack|bit|struct|os|goto|loadstring|load|dofile|pcall|random|tostring|debug|setresp|replicate_commands|error_reply|status_reply|EVAL|EVALSHA|MULTI|WAIT|EXPIRE|PEXPIRE|EXPIREAT|PERSIST|GETEX|TOUCH|RENAME|COPY|RESTORE)\b`)

var format = regexp.MustCompile(`string\.format\(([^,]*),`)

func TestLua_keeps_to_the_dialect(t *testing.T) {
	t.Parallel()
	for _, sc := range newScripts().all() {
		_, code := parseHeader(t, sc)
		for i, line := range code {
			if word := forbidden.FindString(line); word != "" {
				t.Errorf("%s: line %d of the code has %q", sc.name, i+1, word)
			}
			if assigned := regexp.MustCompile(`^\s*(function\s|\w+\s*=[^=])`).FindString(line); assigned != "" && !boundBefore(code[:i], assigned) {
				t.Errorf("%s: line %d of the code makes a global: %q", sc.name, i+1, line)
			}
			for _, m := range format.FindAllStringSubmatch(line, -1) {
				if m[1] != "'%.0f'" {
					t.Errorf("%s: line %d of the code formats with %s, want '%%.0f'", sc.name, i+1, m[1])
				}
			}
		}
		for _, m := range command.FindAllStringSubmatch(strings.Join(code, "\n"), -1) {
			if !slices.Contains(allowed, m[1]) {
				t.Errorf("%s: calls %s, which is not on the list", sc.name, m[1])
			}
		}
		if strings.HasPrefix(sc.source, "#!") {
			t.Errorf("%s: has a line of flags, which miniredis does not read", sc.name)
		}
	}
}

// boundBefore reports whether a plain assignment is to a name that was declared
// local, or to a field of one.
func boundBefore(code []string, assignment string) bool {
	name := strings.TrimSpace(strings.TrimSuffix(strings.Split(assignment, "=")[0], "="))
	declared := regexp.MustCompile(`\blocal\s+(?:\w+,\s*)*` + regexp.QuoteMeta(name) + `\b`)
	return slices.ContainsFunc(code, func(line string) bool { return declared.MatchString(line) })
}

// The first write of a script decides whether a server without memory lets it
// run: the rest is not asked again. Removals may come first where nothing that
// needs memory follows.
func TestLua_first_write_is_one_that_maxmemory_refuses(t *testing.T) {
	t.Parallel()
	needsMemory := []string{"HSET", "HINCRBY", "ZADD"}
	removes := []string{"HDEL", "DEL", "ZREM", "PEXPIREAT"}
	for _, sc := range newScripts().all() {
		_, code := parseHeader(t, sc)
		var writes []string
		refusals := false // inside the function that refuses, whose removals end the script
		for i, line := range code {
			if repeats(code[i:]) {
				continue
			}
			refusals = refusals && line != "end" || strings.HasPrefix(line, "local function refuse")
			for _, m := range command.FindAllStringSubmatch(line, -1) {
				if !refusals && (slices.Contains(needsMemory, m[1]) || slices.Contains(removes, m[1])) {
					writes = append(writes, m[1])
				}
			}
		}
		if sc.name == "use" { // sums up what others wrote
			if len(writes) != 0 {
				t.Errorf("use: writes %v, want none", writes)
			}
			continue
		}
		if len(writes) == 0 {
			t.Fatalf("%s: no writes found", sc.name)
		}
		first := writes[0]
		switch sc.name {
		case "delete": // frees memory, and gives capacity back behind that
			if first != "DEL" {
				t.Errorf("delete: first write is %s, want DEL", first)
			}
		case "attach": // only ever removes, or repeats an expiry
			if slices.ContainsFunc(writes, func(w string) bool { return slices.Contains(needsMemory, w) }) {
				t.Errorf("attach: writes %v, want nothing that needs memory", writes)
			}
		case "sweep": // a name whose record is gone is dropped on a way out of its own
			if first != "ZREM" || writes[1] != "HSET" {
				t.Errorf("sweep: writes %v, want the way out and then HSET", writes)
			}
		case "enlist": // writes a sorted set alone
			if first != "ZADD" {
				t.Errorf("enlist: first write is %s, want ZADD", first)
			}
		default:
			if first != "HSET" {
				t.Errorf("%s: first write is %s, want HSET", sc.name, first)
			}
		}
	}
}

// repeats reports whether the code begins with a way out that writes the stored
// expiry once more, which needs no memory and comes alone.
func repeats(code []string) bool {
	before, after, found := strings.Cut(code[0], "'PEXPIREAT'")
	return found && strings.Contains(before, "redis.call(") && (strings.Contains(after, "return ") || len(code) > 1 && strings.HasPrefix(strings.TrimSpace(code[1]), "return "))
}

// Only what chooses or repeats a stored expiry may set one.
func TestLua_expiry_is_set_in_few_places(t *testing.T) {
	t.Parallel()
	want := map[string]int{"open": 1, "admit": 5, "save": 1, "complete": 1, "settle": 2, "resolve": 1, "enlist": 1, "reserve": 2, "attach": 1}
	for _, sc := range newScripts().all() {
		if got := strings.Count(sc.source, "'PEXPIREAT'"); got != want[sc.name] {
			t.Errorf("%s sets %d expiries, want %d", sc.name, got, want[sc.name])
		}
	}
}

func TestLua_words_are_those_of_the_lifecycle(t *testing.T) {
	t.Parallel()
	s := newScripts()
	for source, words := range map[*script][]string{
		s.admit:    {string(lifecycle.Projecting)},
		s.complete: {string(lifecycle.Projecting), string(lifecycle.Unknown)},
		s.save:     {string(lifecycle.Projecting)},
		s.resolve:  {string(lifecycle.Projecting), string(lifecycle.Unknown)},
		s.delete:   {string(lifecycle.Projecting)},
		s.sweep: {string(lifecycle.Projecting), string(lifecycle.Error), string(lifecycle.Unknown), string(lifecycle.Completed),
			string(lifecycle.Orphaned), string(lifecycle.OutcomeUnknown), string(lifecycle.ProjectionFailed)},
	} {
		for _, word := range words {
			if !strings.Contains(source.source, "'"+word+"'") {
				t.Errorf("%s does not know the word %s", source.name, word)
			}
		}
	}
}
