package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strconv"
)

// merged makes one conversation of the threads of a group. Threads of one format are merged; of several formats, which
// spell and sometimes name the same calls differently, the one with the most calls is taken, the first among equals.
func (r *reader) merged(threads []thread, group []int) Conversation {
	var order []format
	byFormat := map[format]*union{}
	for _, i := range group {
		t := threads[i]
		u := byFormat[t.format]
		if u == nil {
			u = &union{at: t.at, places: map[digest][]int{}}
			byFormat[t.format] = u
			order = append(order, t.format)
		}
		u.absorb(t)
	}
	best := byFormat[order[0]]
	for _, f := range order[1:] {
		if u := byFormat[f]; len(u.calls) > len(best.calls) {
			best = u
		}
	}
	return Conversation{Line: r.line(best.at), Calls: best.calls, Unmatched: best.unmatched}
}

// union collects the calls of histories that repeat each other.
type union struct {
	at        int
	calls     []Call
	unmatched int
	places    map[digest][]int
}

// absorb adds what a history has beyond those before it. The n-th call of some identity in one history is the n-th of
// that identity in another, so that a call which was truly made twice stays two.
func (u *union) absorb(t thread) {
	seen := map[digest]int{}
	shift, shifted := 0, len(u.calls) == 0
	for _, c := range t.calls {
		key := identity(c)
		if n := seen[key]; n < len(u.places[key]) {
			if known := &u.calls[u.places[key][n]]; !known.HasResult && c.HasResult {
				known.Result, known.HasResult = c.Result, true
			}
			seen[key]++
			continue
		}
		if last := len(u.calls) - 1; !shifted && c.Turn <= u.calls[last].Turn {
			shift = u.calls[last].Turn + 1 - c.Turn
		}
		shifted = true
		c.Turn += shift
		seen[key]++
		u.places[key] = append(u.places[key], len(u.calls))
		u.calls = append(u.calls, c)
	}
	u.unmatched = max(u.unmatched, t.unmatched)
}

// identity says which calls of two histories are the same one: those of one id, name and arguments, the last compared
// without the space between tokens, because histories are written anew for each request.
func identity(c Call) digest { return digestOf([]byte(c.ID), []byte(c.Name), compacted(c.Arguments)) }

// content is the identity of a call without its id.
func content(c Call) digest { return digestOf([]byte(c.Name), compacted(c.Arguments)) }

func compacted(arguments []byte) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, arguments) != nil {
		return arguments
	}
	return compact.Bytes()
}

type digest [sha256.Size]byte

// digestOf is over the parts with their lengths, so that no two lists of parts look the same.
func digestOf(parts ...[]byte) digest {
	var text []byte
	for _, part := range parts {
		text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
		text = append(text, part...)
	}
	return sha256.Sum256(text)
}

// related groups the threads that share a call; those without any are left out. A call without an id is shared where
// its name and arguments are, because hosts give ids to the calls of providers that give none.
func related(threads []thread) [][]int {
	groups := newForest(len(threads))
	withID, withoutID, latest := map[digest]int{}, map[digest]int{}, map[digest]int{}
	for i, t := range threads {
		for _, c := range t.calls {
			same := content(c)
			if c.ID == "" {
				groups.link(latest, same, i)
				withoutID[same] = i
				continue
			}
			groups.link(withID, identity(c), i)
			if j, ok := withoutID[same]; ok {
				groups.join(i, j)
			}
			latest[same] = i
		}
	}
	return groups.list(func(i int) bool { return len(threads[i].calls) > 0 })
}

// forest joins indexes that belong together.
type forest []int

func newForest(n int) forest {
	f := make(forest, n)
	for i := range f {
		f[i] = i
	}
	return f
}

func (f forest) root(i int) int {
	for f[i] != i {
		f[i] = f[f[i]]
		i = f[i]
	}
	return i
}

func (f forest) join(i, j int) {
	i, j = f.root(i), f.root(j)
	f[max(i, j)] = min(i, j)
}

// link joins i with whoever had the key before, and leaves the key to i.
func (f forest) link(owner map[digest]int, key digest, i int) {
	if j, ok := owner[key]; ok {
		f.join(i, j)
	}
	owner[key] = i
}

// list are the groups in the order of their first members.
func (f forest) list(keep func(int) bool) [][]int {
	var groups [][]int
	at := map[int]int{}
	for i := range f {
		if !keep(i) {
			continue
		}
		root := f.root(i)
		if _, ok := at[root]; !ok {
			at[root] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[root]] = append(groups[at[root]], i)
	}
	return groups
}

// outside counts the calls of threads and responses that no conversation found has, each once.
func outside(found []Conversation, threads []thread, all []traffic) int {
	known := map[digest]bool{}
	for _, c := range found {
		for _, call := range c.Calls {
			known[identity(call)], known[content(call)] = true, true
		}
	}
	count := 0
	look := func(calls []Call) {
		for _, call := range calls {
			if known[identity(call)] || call.ID == "" && known[content(call)] {
				continue
			}
			known[identity(call)] = true
			count++
		}
	}
	for _, t := range threads {
		look(t.calls)
	}
	for _, t := range all {
		calls, _ := pair(t.response)
		look(calls)
	}
	return count
}
