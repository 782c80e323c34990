package imports

import (
	"testing"

	"github.com/toolharness/harness/internal/vectors"
)

// own turns a path below the root into an import path.
func own(path string) string { return vectors.Module + "/" + path }

func owns(paths ...string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, own(p))
	}
	return out
}

const (
	goRedis   = "github.com/redis/go-redis/v9/..."
	miniRedis = "github.com/alicebob/miniredis/v2/..."
	lua       = "github.com/yuin/gopher-lua/..."
)

// pure packages decide and describe; whatever they need they are handed.
var pure = owns("evidence", "lifecycle", "canonical", "projector/...", "runprogress", "findings/...", "redact/...", "retrieval")

// forTests are the suites and the means of our own tests.
var forTests = owns("canonical/storetest", "projector/projectortest", "internal/redistest", "internal/vectors", "remote/remotetest")

var bans = []ban{
	{
		target:  []string{goRedis},
		allowed: owns("redisstore", "redisstore/embedded", "internal/redistest"),
		through: true,
		reason:  "one package knows the Redis client; everybody else needs a canonical.Store",
	},
	{
		target:  []string{miniRedis, lua},
		allowed: owns("redisstore/embedded", "internal/redistest"),
		through: true,
		reason:  "an embedded server is asked for by name, never linked along",
	},
	{
		target: []string{goRedis, miniRedis, lua, own("redisstore/...")},
		from:   append(owns("boundary"), pure...),
		reason: "the boundary and what is below it work on any store: no Redis below boundary (C36)",
	},
	{
		target:  []string{"go.uber.org/zap/..."},
		allowed: owns("boundary"),
		through: true,
		reason:  "a failure is handled once: the boundary logs, everybody else returns it",
	},
	{
		target: []string{"github.com/google/uuid"},
		from:   pure,
		reason: "no id of a call is ever made (C23); the boundary makes run ids, claims and evidence ids, nobody below it makes any",
	},
	{
		target:  []string{"testing", "testing/..."},
		allowed: forTests,
		reason:  "a program that embeds this library must not link the testing package and its flags",
	},
	{
		target: []string{"net", "net/http", "os/exec", "syscall/js", "plugin"},
		from:   pure,
		reason: "pure packages do no I/O, so that the same input gives the same answer",
	},
	{
		target:  forTests,
		allowed: forTests,
		reason:  "suites and the means of our own tests are not part of what is shipped",
	},
}

var core = owns("evidence", "lifecycle", "canonical")

// arrows stand from leaf to root. A package that is not here is not allowed.
var arrows = []arrow{
	{own("evidence"), nil},
	{own("lifecycle"), owns("evidence")},
	{own("canonical"), owns("evidence", "lifecycle")},
	{own("canonical/storetest"), core},
	{own("projector"), owns("evidence")},
	{own("projector/..."), owns("evidence", "projector", "projector/internal/bounds")},
	{own("projector/internal/bounds"), owns("evidence", "projector")},
	{own("runprogress"), core},
	{own("findings"), core},
	{own("findings/..."), append(owns("findings"), core...)},
	{own("redact"), nil},
	{own("redact/..."), owns("redact")},
	{own("boundary"), append(owns("projector", "runprogress", "findings", "redact"), core...)},
	{own("retrieval"), append(owns("redact"), core...)},
	{own("retrieval/tools"), append(owns("boundary", "findings", "projector", "redact", "retrieval", "runprogress"), core...)},
	{own("redisstore"), core},
	{own("redisstore/embedded"), append(owns("redisstore"), core...)},
	{own("fakes"), append(owns("boundary", "projector", "runprogress", "findings", "redact"), core...)},
	{own("executors/..."), append(owns("boundary", "projector/...", "runprogress", "findings", "redact"), core...)},
	{own("remote"), append(owns("boundary", "projector", "redact", "runprogress", "findings"), core...)},
	{own("remote/..."), append(owns("remote", "boundary", "projector", "redact", "runprogress", "findings"), core...)},
	{own("examples/..."), []string{vectors.Module + "/..."}},
	{own("internal/..."), nil},
}

func TestT62_imports_of_this_module(t *testing.T) {
	t.Parallel()
	g, err := listGraph(vectors.Root(t), vectors.Module)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bans {
		for _, v := range b.violations(g) {
			t.Error(v)
		}
	}
	for _, v := range arrowViolations(g, arrows, vectors.Module+"/...") {
		t.Error(v)
	}
}
