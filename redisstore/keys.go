package redisstore

import (
	"strconv"
	"strings"

	"github.com/toolharness/harness/canonical"
)

// DefaultPrefix begins every key unless [Options].Prefix says otherwise.
const DefaultPrefix = "harness"

// maxPrefix bounds Options.Prefix, in bytes.
const maxPrefix = 64

// runKeys makes the keys of one run. All of them share one hash tag, the part
// between the braces, so that every script works on Redis Cluster. Neither the
// prefix nor any name has a brace, so there is no other tag; a scope's digest
// has a fixed length and a run id no colon, so no two runs share a key.
type runKeys struct{ base string }

// keys returns the keys of run: <prefix>:v<major>:{<scope digest>:<run id>}:...
func (s *Store) keys(run canonical.RunKey) runKeys {
	return runKeys{base: s.prefix + ":v" + strconv.Itoa(canonical.SchemaVersion) + ":{" + run.Scope.Digest() + ":" + string(run.Run) + "}:"}
}

// list makes several keys in one piece of memory. The parts are what the methods
// below put behind the base.
func (k runKeys) list(parts ...string) []string {
	size := 0
	for _, part := range parts {
		size += len(k.base) + len(part)
	}
	var all strings.Builder
	all.Grow(size)
	keys := make([]string, len(parts))
	for i, part := range parts {
		from := all.Len()
		all.WriteString(k.base)
		all.WriteString(part)
		keys[i] = all.String()[from:]
	}
	return keys
}

// ledger (hash): the run's state, deadline, budgets, counters, and the guard of
// every name that was ever admitted.
func (k runKeys) ledger() string { return k.base + "run" }

// order (sorted set): every name ever admitted, by sequence.
func (k runKeys) order() string { return k.base + "order" }

// open (sorted set): names of calls that are PROJECTING, by due time in ms.
func (k runKeys) open() string { return k.base + "open" }

// effects (sorted set): names of calls that may have changed something, by due
// time in ms; 0 for those that ended with an unknown outcome.
func (k runKeys) effects() string { return k.base + "effects" }

// record (hash): the one record of a call.
func (k runKeys) record(call canonical.CallName) string { return k.base + "call:" + call.String() }

// settled (hash): what became known of a call after its record had ended.
func (k runKeys) settled(call canonical.CallName) string { return k.base + "settled:" + call.String() }

// scopeKeys makes the keys of what is kept of a scope as a whole. They share one
// hash tag, the scope's digest alone, so they lie in one slot and, on a cluster,
// in another one than most runs of the scope do.
type scopeKeys struct{ base string }

// scope returns the keys of a scope: <prefix>:v<major>:{<scope digest>}:...
func (s *Store) scope(scope canonical.Scope) scopeKeys {
	return scopeKeys{base: s.prefix + ":v" + strconv.Itoa(canonical.SchemaVersion) + ":{" + scope.Digest() + "}:"}
}

// runs (sorted set): ids of the scope's runs, by the end of their life in ms.
func (k scopeKeys) runs() string { return k.base + "runs" }

// held (sorted set): reservations of the scope's quota, <run id>:<mark>, by the
// end of their run's life in ms.
func (k scopeKeys) held() string { return k.base + "held" }

// quota (hash): the sums over all reservations, and the numbers of each.
func (k scopeKeys) quota() string { return k.base + "quota" }

// checkPrefix allows the alphabet of run ids and the colon: no brace, no blank,
// nothing that a pattern could read as more than itself.
func checkPrefix(prefix string) error {
	if len(prefix) < 1 || len(prefix) > maxPrefix {
		return &OptionError{Field: "Prefix", Reason: "needs 1 to " + strconv.Itoa(maxPrefix) + " bytes"}
	}
	for i := 0; i < len(prefix); i++ {
		c := prefix[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && !('0' <= c && c <= '9') && c != '.' && c != '_' && c != '-' && c != ':' {
			return &OptionError{Field: "Prefix", Reason: "has a byte other than A-Z a-z 0-9 . _ - :"}
		}
	}
	return nil
}
