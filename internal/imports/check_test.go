package imports

import (
	"fmt"
	"strings"
)

// ban keeps packages away from a target.
type ban struct {
	target  []string // patterns of what must not be reached
	from    []string // whom it binds; empty: every package of ours
	allowed []string // who is free of it
	// through says that a chain which passes an allowed package is fine: that
	// package stands between. Without it nobody else may link the target at all.
	through bool
	reason  string
}

// violations lists each package that breaks the ban, with the chain by which it
// does and the reason why it must not.
func (b ban) violations(g graph) []string {
	var out []string
	for _, p := range g.ours {
		if matchesAny(p, b.allowed) || len(b.from) > 0 && !matchesAny(p, b.from) {
			continue
		}
		chain := g.path(p,
			func(q string) bool { return matchesAny(q, b.target) },
			func(q string) bool { return b.through && matchesAny(q, b.allowed) })
		if chain != nil {
			out = append(out, fmt.Sprintf("%s: %s", strings.Join(chain, " -> "), b.reason))
		}
	}
	return out
}

// arrow says which packages of ours one package of ours may know.
type arrow struct {
	pkg string
	may []string
}

// arrowViolations lists packages that no arrow mentions and those that reach
// more of ours than theirs allows.
func arrowViolations(g graph, arrows []arrow, isOurs string) []string {
	var out []string
	for _, p := range g.ours {
		a, found := arrowOf(p, arrows)
		if !found {
			out = append(out, p+": no arrow says whom it may know; add one")
			continue
		}
		chain := g.path(p,
			func(q string) bool { return matches(q, isOurs) && !matchesAny(q, a.may) },
			func(string) bool { return false })
		if chain != nil {
			out = append(out, fmt.Sprintf("%s: the arrow of %s does not allow it", strings.Join(chain, " -> "), a.pkg))
		}
	}
	return out
}

// arrowOf prefers an exact row to one for a whole subtree.
func arrowOf(pkg string, arrows []arrow) (arrow, bool) {
	best, found := arrow{}, false
	for _, a := range arrows {
		if a.pkg == pkg {
			return a, true
		}
		if matches(pkg, a.pkg) && len(a.pkg) > len(best.pkg) {
			best, found = a, true
		}
	}
	return best, found
}
