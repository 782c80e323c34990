package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
)

// shortenWork bounds how many messages are replayed in search of a shorter
// conversation.
const shortenWork = 150_000

// shorten leaves out what the failure does not need, and prints the rest.
func shorten(t testing.TB, trail []step, store NamedHarness) string {
	work := 0
	fails := func(steps []step) string {
		work += len(steps)
		w := newWalk(t, []NamedHarness{store})
		for _, s := range steps {
			if w.take(s); w.broken() {
				return w.worlds[0].wrong
			}
		}
		w.compareAll()
		return w.worlds[0].wrong
	}
	kept := trail
	if last := trail[len(trail)-1]; last.message != nil {
		if one := ofRun(trail, last.message.target()); fails(one) != "" {
			kept = one
		}
	}
	if plain := knowingNothing(kept); fails(plain) != "" {
		kept = plain
	}
	for size := len(kept) / 2; size > 0 && work < shortenWork; size /= 2 {
		for i := 0; i+size <= len(kept) && work < shortenWork; {
			less := append(append([]step{}, kept[:i]...), kept[i+size:]...)
			if fails(less) != "" {
				kept = less
			} else {
				i += size
			}
		}
	}
	wrong := fails(kept)
	if wrong == "" {
		return "sent again from the start, the conversation does not fail: it depends on time or on chance"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages suffice, the last of them:\n", len(kept))
	for _, s := range kept[max(0, len(kept)-40):] {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String() + "ending in\n" + wrong
}

// ofRun keeps the messages of one run, and time.
func ofRun(trail []step, run canonical.RunKey) []step {
	var out []step
	for _, s := range trail {
		if s.message == nil || s.message.target() == run {
			out = append(out, s)
		}
	}
	return out
}

// knowingNothing takes out of all messages what their senders had seen of the run,
// which ties each to so many before it.
func knowingNothing(trail []step) []step {
	out := make([]step, len(trail))
	for i, s := range trail {
		switch m := s.message.(type) {
		case admitMessage:
			m.Seen = 0
			s.message = m
		case saveMessage:
			m.Seen = 0
			s.message = m
		case endMessage:
			m.Seen = 0
			s.message = m
		case closeMessage:
			m.Seen = 0
			s.message = m
		}
		out[i] = s
	}
	return out
}
