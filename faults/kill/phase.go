package kill

import (
	"fmt"
	"strings"

	"github.com/toolharness/harness/canonical"
)

// Phase is how far a call has come, as its process says it. Each is told before
// the process goes on, so a process that is killed was in the last one it told,
// or on the way to the next.
type Phase string

// The phases of a call, in order.
const (
	Joined          Phase = "joined"           // the run, before the call
	Admitting       Phase = "admitting"        // about to send the admission
	AdmitSent       Phase = "admit sent"       // whole on the wire, no answer read
	Admitted        Phase = "admitted"         // the answer is known
	Entered         Phase = "entered"          // the body; its line is in the file of entries
	BodyHalf        Phase = "body half"        // half of the result handed over
	BodyDone        Phase = "body done"        // about to return
	SavePartial     Phase = "save partial"     // half of a long result on the wire
	SaveSent        Phase = "save sent"        //
	Saved           Phase = "saved"            //
	Projecting      Phase = "projecting"       //
	CompletePartial Phase = "complete partial" // half of a long result on the wire
	CompleteSent    Phase = "complete sent"    //
	Completed       Phase = "completed"        // the store has answered
	Ended           Phase = "ended"            // the outcome is there, and nobody was told
	Told            Phase = "told"             // the outcome was told to the parent
)

// phases are those at which a process can be held. It is told when it is over.
var phases = [...]Phase{
	Joined, Admitting, AdmitSent, Admitted, Entered, BodyHalf, BodyDone, SavePartial, SaveSent, Saved,
	Projecting, CompletePartial, CompleteSent, Completed, Ended,
}

// fits reports whether a call with this effect and size goes through the phase.
// What a write returns is sent with its save, what a read returns with its end.
func (p Phase) fits(effect canonical.Effect, size int) bool {
	switch p {
	case SavePartial:
		return !effect.Read() && size >= largeBytes
	case SaveSent, Saved:
		return !effect.Read()
	case CompletePartial:
		return effect.Read() && size >= largeBytes
	}
	return true
}

// Histogram counts kills by the last phase that the process told.
type Histogram map[Phase]int

// Total is the number of kills.
func (h Histogram) Total() int {
	n := 0
	for _, count := range h {
		n += count
	}
	return n
}

// String draws it, one line a phase, those without a kill too.
func (h Histogram) String() string {
	most := 1
	for _, count := range h {
		most = max(most, count)
	}
	var b strings.Builder
	for _, p := range append(phases[:], Told) {
		fmt.Fprintf(&b, "  %-17s %5d %s\n", p, h[p], strings.Repeat("#", (h[p]*40+most-1)/most))
	}
	return b.String()
}
