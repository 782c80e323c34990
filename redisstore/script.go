package redisstore

import (
	"context"
	"crypto/sha1"
	_ "embed" // the scripts are part of the program
	"encoding/hex"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The scripts, one verb a file. Each file's header is its contract; a test
// compares it with the table below.
var (
	//go:embed lua/open.lua
	openSource string
	//go:embed lua/close.lua
	closeSource string
	//go:embed lua/admit.lua
	admitSource string
	//go:embed lua/save.lua
	saveSource string
	//go:embed lua/complete.lua
	completeSource string
	//go:embed lua/sweep.lua
	sweepSource string
	//go:embed lua/settle.lua
	settleSource string
	//go:embed lua/resolve.lua
	resolveSource string
	//go:embed lua/delete.lua
	deleteSource string
	//go:embed lua/enlist.lua
	enlistSource string
	//go:embed lua/reserve.lua
	reserveSource string
	//go:embed lua/release.lua
	releaseSource string
	//go:embed lua/use.lua
	useSource string
	//go:embed lua/attach.lua
	attachSource string
)

// more stands for a reply or an argument list that goes on behind its fixed part.
const more = -1

// script is one verb: its text, and what may go in and come out.
type script struct {
	name    string
	source  string
	text    string // the source without what its header says behind the first line
	digest  string // SHA-1 of the text, by which a server caches it
	sha     any    // the digest, as an argument
	keys    int
	args    int              // fixed arguments
	open    bool             // more arguments may follow
	replies map[string][]int // elements behind each word; {n, more} for n and then any number
}

// scripts are the verbs of the store.
type scripts struct {
	open, close, admit, save, complete, sweep, settle, resolve, delete, enlist, reserve, release, use, attach *script
}

// newScripts is the table: name, number of keys and arguments, replies.
func newScripts() scripts {
	return scripts{
		open: newScript("open", openSource, 1, 11, false, words{
			"opened": {9}, "stored": {9}, "absent": {0}, "taken": {0}, "conflict": {0}, "newer": {0}, "foreign": {0}}),
		close: newScript("close", closeSource, 3, 2, false, words{
			"closed": {5, more}, "missing": {0}, "taken": {0}, "newer": {0}, "foreign": {0}}),
		admit: newScript("admit", admitSource, 5, 15, false, words{
			"created": {8}, "own": {8}, "duplicate": {1}, "missing": {0}, "closed": {0}, "damaged": {0},
			"too_late": {0}, "deadline": {0}, "unresolved": {0}, "capacity": {2}, "run_budget": {2},
			"tool_budget": {2}, "newer": {0}, "foreign": {0}}),
		save: newScript("save", saveSource, 3, 8, true, words{
			"saved": {0}, "repeat": {0}, "missing": {0}, "conflict": {1}, "incomplete": {0}, "newer": {0}, "foreign": {0}}),
		complete: newScript("complete", completeSource, 4, 14, true, words{
			"ended": {0}, "repeat": {0}, "missing": {0}, "conflict": {1}, "swept": {2}, "incomplete": {0},
			"newer": {0}, "foreign": {0}}),
		sweep: newScript("sweep", sweepSource, 4, 4, false, words{
			"swept": {2}, "early": {0}, "ended": {0}, "newer": {0}, "foreign": {0}}),
		settle: newScript("settle", settleSource, 3, 6, true, words{
			"settled": {0}, "repeat": {0}, "missing": {0}, "conflict": {1}, "incomplete": {0}, "newer": {0}, "foreign": {0}}),
		resolve: newScript("resolve", resolveSource, 4, 4, false, words{
			"resolved": {0}, "repeat": {0}, "missing": {0}, "open": {1}, "conflict": {1}, "newer": {0}, "foreign": {0}}),
		delete: newScript("delete", deleteSource, 4, 2, false, words{
			"deleted": {0}, "missing": {0}, "open": {1}, "unresolved": {1}, "newer": {0}, "foreign": {0}}),
		enlist: newScript("enlist", enlistSource, 1, 3, false, words{"listed": {1}, "foreign": {0}}),
		reserve: newScript("reserve", reserveSource, 2, 6, false, words{
			"reserved": {0}, "held": {0}, "full": {2}, "more": {0}, "foreign": {0}}),
		release: newScript("release", releaseSource, 2, 4, false, words{
			"kept": {0}, "gone": {0}, "later": {0}, "foreign": {0}}),
		use:    newScript("use", useSource, 2, 0, false, words{"use": {3}, "foreign": {0}}),
		attach: newScript("attach", attachSource, 1, 1, true, words{"kept": {0}, "dropped": {0}, "foreign": {0}}),
	}
}

type words = map[string][]int

func newScript(name, source string, keys, args int, open bool, replies words) *script {
	text := short(source)
	sum := sha1.Sum([]byte(text))
	digest := hex.EncodeToString(sum[:])
	return &script{name: name, source: source, text: text, digest: digest, sha: digest, keys: keys, args: args, open: open, replies: replies}
}

// short is a script as it is sent: its first line, which names it, and its code. A
// server hashes the text of every EVAL, and attach is one with every long body.
func short(source string) string {
	var out strings.Builder
	for i, line := range strings.SplitAfter(source, "\n") {
		if i == 0 || !strings.HasPrefix(line, "--") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// commander is what a script needs of a client or of a pipeline.
type commander interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// by sends the script to c, by its digest or, where whole is set, by its text. What
// became of it is in the command.
func (sc *script) by(ctx context.Context, c commander, whole bool, m message) *redis.Cmd {
	args := make([]any, 0, 3+len(m.keys)+len(m.args))
	if whole {
		args = append(args, "eval", sc.text)
	} else {
		args = append(args, "evalsha", sc.sha)
	}
	args = append(args, len(m.keys))
	for _, key := range m.keys {
		args = append(args, key)
	}
	cmd := redis.NewCmd(ctx, append(args, m.args...)...)
	cmd.SetFirstKeyPos(3) // for a cluster; every script has a key
	_ = c.Process(ctx, cmd)
	return cmd
}

// message is what one delivery of a script carries.
type message struct {
	keys []string
	args []any
}

// arguments collects those of a message. The client takes a pointer as it takes what
// it points at, and a value in an interface is an allocation of its own.
type arguments struct {
	list    []any
	texts   []string
	numbers []int64
}

// newArguments has room for so many.
func newArguments(texts, numbers, bodies int) arguments {
	return arguments{
		list: make([]any, 0, texts+numbers+bodies), texts: make([]string, 0, texts), numbers: make([]int64, 0, numbers),
	}
}

func (a *arguments) text(list ...string) {
	for _, t := range list {
		a.texts = append(a.texts, t)
		a.list = append(a.list, &a.texts[len(a.texts)-1])
	}
}

func (a *arguments) number(list ...int64) {
	for _, n := range list {
		a.numbers = append(a.numbers, n)
		a.list = append(a.list, &a.numbers[len(a.numbers)-1])
	}
}

func (a *arguments) bytes(list ...[]byte) {
	for _, b := range list {
		a.list = append(a.list, b)
	}
}

// run sends a script in one trip and, where the server does not know it, once
// more with its text. A script is never loaded ahead: that would be a trip.
//
// On a cluster it goes to the slot's node first. A node that hangs costs one timeout
// then, after which the client looks for the node again; the client itself would ask
// the same node twice before it looks.
func (s *Store) run(ctx context.Context, sc *script, m message) (reply, error) {
	var to commander = s.client
	if node, only := s.node(ctx, m.keys[0]); node != nil && !only {
		to = node
	}
	cmd := sc.by(ctx, to, false, m)
	if to != commander(s.client) && elsewhere(cmd.Err()) && ctx.Err() == nil {
		to = s.client
		cmd = sc.by(ctx, to, false, m)
	}
	if unknownScript(cmd.Err()) {
		cmd = sc.by(ctx, to, true, m)
	}
	return sc.reply(cmd)
}

// unknownScript tells a lost script cache by the code that begins the error.
func unknownScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }
