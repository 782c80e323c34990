package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
)

// keysOf lists every key that a call of a run has.
func keysOf(s *Store, run canonical.RunKey, call canonical.CallName) []string {
	k := s.keys(run)
	return []string{k.ledger(), k.order(), k.open(), k.effects(), k.record(call), k.settled(call)}
}

// tag is the part of a key that Redis Cluster hashes: between the first opening
// brace and the first closing one behind it.
func tag(key string) string {
	_, rest, opened := strings.Cut(key, "{")
	inside, _, closed := strings.Cut(rest, "}")
	if !opened || !closed || inside == "" {
		return ""
	}
	return inside
}

func TestKeys_of_a_run_share_one_tag(t *testing.T) {
	t.Parallel()
	s := &Store{prefix: "a:b"}
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "{x}", Owner: "}", Namespace: "{"}, Run: "r.1_-"}
	seen := map[string]bool{}
	for _, call := range []canonical.CallName{{ID: "call_1"}, {ID: "{"}, {Turn: "t", ID: "x:y|/+=@~-"}} {
		for _, key := range keysOf(s, run, call) {
			seen[tag(key)] = true
			if tag(key) == "" || !strings.HasPrefix(key, "a:b:v1:{") {
				t.Errorf("key %q has no tag or not the prefix", key)
			}
		}
	}
	if len(seen) != 1 {
		t.Errorf("the keys of one run have %d tags, want 1: %v", len(seen), seen)
	}
}

// Different identities never share a key, however alike they look when joined.
func TestKeys_of_different_identities_differ(t *testing.T) {
	t.Parallel()
	s := &Store{prefix: "p"}
	scopes := []canonical.Scope{
		{Tenant: "a", Owner: "b", Namespace: "c"}, {Tenant: "ab", Owner: "", Namespace: "c"}, {Tenant: "a", Owner: "bc"},
		{Tenant: "A", Owner: "b", Namespace: "c"}, {Tenant: "a", Owner: "b", Namespace: "c "}, {Owner: "a", Namespace: "b"},
	}
	runs := []canonical.RunID{"run", "Run", "run.1", "run-1", "call", "order"}
	calls := []canonical.CallName{
		{ID: "a"}, {ID: "A"}, {ID: ":a"}, {Turn: "a", ID: "a"}, {Turn: "a", ID: ":a"}, {ID: "a:a"}, {Turn: "1", ID: "b:c"},
		{Turn: "1.b", ID: "c"}, {ID: "run"}, {ID: "open"}, {ID: "settled:a"}, {Turn: "call", ID: "a"},
	}
	owner := map[string]string{}
	for i, scope := range scopes {
		for _, run := range runs {
			key := canonical.RunKey{Scope: scope, Run: run}
			for _, name := range []string{s.keys(key).ledger(), s.keys(key).order(), s.keys(key).open(), s.keys(key).effects()} {
				claimKey(t, owner, name, fmt.Sprintf("scope %d run %s", i, run))
			}
			for _, call := range calls {
				claimKey(t, owner, s.keys(key).record(call), fmt.Sprintf("scope %d run %s call %s", i, run, call))
				claimKey(t, owner, s.keys(key).settled(call), fmt.Sprintf("scope %d run %s settled %s", i, run, call))
			}
		}
	}
	for i, scope := range scopes {
		for _, name := range []string{s.scope(scope).runs(), s.scope(scope).held(), s.scope(scope).quota()} {
			claimKey(t, owner, name, fmt.Sprintf("scope %d", i))
		}
	}
	if want := len(scopes) * (3 + len(runs)*(4+2*len(calls))); len(owner) != want {
		t.Errorf("%d different keys, want %d", len(owner), want)
	}
}

func claimKey(t *testing.T, owner map[string]string, key, who string) {
	t.Helper()
	if first, taken := owner[key]; taken {
		t.Errorf("%s and %s share the key %q", first, who, key)
	}
	owner[key] = who
}

// The id can be read in the key, byte for byte.
func TestKeys_hold_the_id_literally(t *testing.T) {
	t.Parallel()
	s := &Store{prefix: "p"}
	call := canonical.CallName{Turn: "3", ID: "call_Ab|fc_1:2/x+y=@~"}
	key := s.keys(canonical.RunKey{Scope: canonical.Scope{Tenant: "t"}, Run: "r"}).record(call)
	if !strings.HasSuffix(key, "}:call:3:call_Ab|fc_1:2/x+y=@~") {
		t.Errorf("key %q does not end in the name", key)
	}
}

func TestOptions_prefix(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]bool{
		"harness": true, "A.b_c-9:x": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "a{b": false, "a}b": false, "a b": false, "a*": false, "ä": false, "a\x00": false,
	} {
		err := checkPrefix(prefix)
		if (err == nil) != want {
			t.Errorf("prefix %q: %v, want allowed %v", prefix, err, want)
		}
		if err != nil && (!errors.As(err, new(*OptionError)) || len(prefix) > 4 && strings.Contains(err.Error(), prefix)) {
			t.Errorf("prefix %q: %v, want an OptionError that does not repeat it", prefix, err)
		}
	}
}
