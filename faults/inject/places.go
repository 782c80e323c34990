package inject

import (
	"context"
	"strings"
	"time"

	"github.com/toolharness/harness/faults/proxy"
	"github.com/toolharness/harness/faults/report"
)

// form is how a script travels, which follows from the size of what it brings.
type form string

const (
	bare   form = "bare"   // EVALSHA alone, bodies are arguments
	multi  form = "multi"  // one transaction, bodies beside the script
	pieces form = "pieces" // several transactions in one pipeline, above 1 MiB
)

// size is how many bytes a tool returns so that its result travels in a form.
func (f form) size() int {
	switch f {
	case multi:
		return 40 << 10
	case pieces:
		return 1<<20 + 100<<10
	default:
		return 300
	}
}

// wireFault is one combination of the section: which message is spoiled and how.
type wireFault struct {
	script string
	form   form
	part   proxy.Part
	place  proxy.Place
	kind   proxy.Kind
	always bool

	// Of faults of the server:
	name    string                                // of the row
	note    string                                // added to the place
	do      func(context.Context, *wireTry) error // done to the server at the place
	undo    func(*bed, context.Context) error     // afterwards
	gone    string                                // what becomes of the record by the injection
	dies    bool                                  // the client does nothing more once it was struck
	lenient bool                                  // the model may notice it
}

// lasting reports whether more is lost than one message.
func (w wireFault) lasting() bool { return w.always || w.lenient || w.gone != "" }

// row is the fault's name in the table.
func (w wireFault) row() string {
	name := ""
	switch {
	case w.name != "":
		return w.name
	case w.kind == proxy.Pass:
		return "nothing (control)"
	case w.kind == proxy.Slow:
		name = "slow"
	case w.kind == proxy.HalfOpen:
		name = "half-open"
	case w.place == proxy.Before:
		name = "request lost"
	case w.place == proxy.After:
		name = "reply lost"
	case w.place == proxy.InRequest:
		name = "cut in a bulk of the request"
	default:
		name = "cut in a bulk of the reply"
	}
	if w.always {
		name += ", for good"
	}
	return name
}

func (w wireFault) combination() report.Combination {
	script := w.script
	if w.form != bare {
		script += " " + string(w.form)
	}
	section := WireSection
	if w.name != "" {
		section = ServerSection
	}
	return report.Combination{
		Section: section, Fault: w.row(), Script: script,
		Place: strings.Join(strings.Fields(string(w.place)+" "+string(w.part)+" "+w.note), " "),
	}
}

// arm is the fault as the proxy takes it.
func (w wireFault) arm(seed uint64) proxy.Fault {
	f := proxy.Fault{Script: w.script, Part: w.part, Place: w.place, Kind: w.kind, Seed: seed, Delay: lateness(seed)}
	if w.always {
		f.Times = proxy.Always
		f.Delay = alwaysClosing + 100*time.Millisecond + time.Duration(seed%200)*time.Millisecond
	}
	if w.script == "attach" && w.form == pieces {
		f.Nth = 1 + int(seed%4) // of the transactions that carry the pieces
	}
	return f
}

// lateness is how long something is slow: within what the client waits for, or
// beyond it, so that the client asks again and both arrive.
func lateness(seed uint64) time.Duration {
	if seed%3 == 0 {
		return onceIO + time.Duration(seed%200)*time.Millisecond
	}
	return time.Duration(5+seed%50) * time.Millisecond
}

// wireFaults are all combinations that can occur, in a fixed order.
func wireFaults() []wireFault {
	var all []wireFault
	for _, script := range []string{"open", "enlist", "reserve", "release", "use", "admit", "close", "resolve", "sweep", "delete", "save", "complete", "settle"} {
		all = append(all, places(script, bare, proxy.PartScript)...)
	}
	for _, script := range []string{"save", "complete", "settle"} {
		for _, f := range []form{multi, pieces} {
			all = append(all, places(script, f, proxy.PartScript)...)
			all = append(all, places(script, f, proxy.PartPayload)...)
			all = append(all, places(script, f, proxy.PartExec)...)
		}
	}
	all = append(all, places("sweep", pieces, proxy.PartScript)...) // with pieces of an end that never came
	all = append(all, places("attach", multi, proxy.PartScript)...)
	return append(all, places("attach", pieces, proxy.PartScript)...)
}

// places are the combinations of one message. Payload and EXEC have places of
// the request alone: what is lost of them for good is lost of the script, too.
func places(script string, f form, part proxy.Part) []wireFault {
	var all []wireFault
	for _, place := range []proxy.Place{proxy.Before, proxy.InRequest, proxy.After, proxy.InReply} {
		whole := place == proxy.Before || place == proxy.After
		if part != proxy.PartScript && place != proxy.Before && place != proxy.InRequest {
			continue
		}
		for _, kind := range []proxy.Kind{proxy.Cut, proxy.Slow, proxy.HalfOpen} {
			w := wireFault{script: script, form: f, part: part, place: place, kind: kind}
			all = append(all, w)
			if part == proxy.PartScript && (whole && kind != proxy.Slow || place == proxy.Before) {
				w.always = true // what is slow then comes when nobody waits for it any more
				all = append(all, w)
			}
		}
	}
	return all
}

// impossible are the places that no injection can reach, with the reason.
func impossible() map[report.Combination]string {
	none := map[report.Combination]string{}
	for _, script := range []string{"save", "complete", "settle"} {
		for _, f := range []form{multi, pieces} {
			for _, part := range []proxy.Part{proxy.PartPayload, proxy.PartExec} {
				c := wireFault{script: script, form: f, part: part, place: proxy.After, kind: proxy.Cut}.combination()
				c.Place = "reply to " + string(part)
				if part == proxy.PartExec {
					continue // it is the reply of the script
				}
				none[c] = "a queued command is answered +QUEUED, which has no bulk and tells nothing; the reply is that of EXEC"
			}
		}
	}
	none[report.Combination{Section: WireSection, Fault: "reply lost", Script: "attach", Place: "bare"}] =
		"attach never travels alone: it follows HSET in a transaction"
	return none
}
