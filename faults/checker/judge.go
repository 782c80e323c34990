package checker

import (
	"fmt"
	"slices"
	"strings"
)

// evidence is all that is known of one call: the line, its entries, and what the
// server holds.
type evidence struct {
	line
	entered int  // lines of it in the file of entries
	run     *run // never nil; empty where the server has nothing of it
	record  *record
}

// verdict is what a call counts as.
type verdict struct {
	lost, wrong      []string
	doubled, unknown bool
}

func judge(e evidence) verdict {
	v := verdict{doubled: e.entered > 1, unknown: e.isUnknown()}
	for _, rule := range []func(evidence) string{lostReady, lostAdmitted, lostResult} {
		v.lost = add(v.lost, rule(e))
	}
	for _, rule := range []func(evidence) string{falseRan, falseDuplicate, falseEnd, falseCount, wrongState, wrongBarrier, wrongFields} {
		v.wrong = add(v.wrong, rule(e))
	}
	if e.Broken != "" {
		v.wrong = append(v.wrong, "the section found: "+e.Broken)
	}
	return v
}

func add(list []string, text string) []string {
	if text == "" {
		return list
	}
	return append(list, text)
}

func (e evidence) field(name string) string {
	if e.record == nil {
		return ""
	}
	return e.record.fields[name]
}

func (e evidence) state() string { return e.field("st") }

func (e evidence) admitted() bool {
	_, guarded := e.run.ledger["c:"+e.Call]
	return e.Call != "" && (guarded || e.entered > 0 || e.state() != "")
}

func (e evidence) isUnknown() bool {
	return e.Ran == "unknown" || e.field("xe") == "unknown" || e.state() == "PROJECTING"
}

// lostReady: the model was told READY, and the record is not.
func lostReady(e evidence) string {
	switch {
	case e.Told != "READY":
		return ""
	case e.record == nil && e.Gone == "deleted":
		return ""
	case e.state() != "READY":
		return fmt.Sprintf("told READY, and the record is %q", e.state())
	case e.Agent == "" || e.record.digest("ag") != e.Agent:
		return "told READY, and the agent result in the record is not what was told"
	case e.SHA256 == "" || e.record.digest("raw") != e.SHA256:
		return "told READY, and the raw in the record is not what the tool returned"
	}
	return ""
}

// lostAdmitted: the call was admitted, and is neither ended nor listed.
func lostAdmitted(e evidence) string {
	_, open := e.run.open[e.Call]
	switch state := e.state(); {
	case !e.admitted() || state == "READY" || state == "ERROR":
		return ""
	case state == "" && e.Gone != "":
		return ""
	case state == "":
		return "admitted, and there is no record"
	case e.Gone == "foreign":
		return "" // the key that would list it is somebody else's; the result is looked for below
	case !open:
		return "admitted and PROJECTING, and not in the set of open calls"
	case !e.Listed:
		return "admitted and PROJECTING, and the library did not list it"
	}
	return ""
}

// lostResult: the tool returned something that is nowhere.
func lostResult(e evidence) string {
	if e.entered == 0 || e.SHA256 == "" || e.record == nil && e.Gone == "deleted" {
		return ""
	}
	if e.record.digest("raw") == e.SHA256 || e.run.settledDigest(e.Call) == e.SHA256 || e.RetainedSHA256 == e.SHA256 {
		return ""
	}
	if e.Told == "" && (e.isUnknown() || e.Gone != "") {
		return "" // its process died with it, and the record says so
	}
	return "the tool's result is neither stored nor settled nor in the host's hands"
}

// falseRan: what the model was told does not agree with the entries.
func falseRan(e evidence) string {
	fits := map[string]bool{"no": e.entered == 0, "yes": e.entered == 1, "unknown": e.entered <= 1, "": e.Told == ""}
	switch ok, known := fits[e.Ran]; {
	case !known || e.Ran == "" && e.Told != "" || e.Ran != "" && e.Told == "":
		return fmt.Sprintf("told %q and ran %q", e.Told, e.Ran)
	case !ok:
		return fmt.Sprintf("told ran %q, entered %d times", e.Ran, e.entered)
	case e.Told == "READY" && e.Ran != "yes":
		return "told READY, not run"
	}
	return ""
}

// falseDuplicate: a first call is none, a second one is.
func falseDuplicate(e evidence) string {
	switch {
	case e.Told == "DUPLICATE_TOOL_CALL":
		return "the first call was told that it is a duplicate"
	case e.Again != "" && e.Again != "DUPLICATE_TOOL_CALL":
		return fmt.Sprintf("a second call of the same name was told %q", e.Again)
	}
	return ""
}

// falseEnd: the record claims what did not happen.
func falseEnd(e evidence) string {
	state, execution := e.state(), e.field("xe")
	switch {
	case state == "READY" && e.entered != 1, execution == "completed" && e.entered != 1:
		return fmt.Sprintf("the record is %s, execution %s, and the tool was entered %d times", state, execution, e.entered)
	case execution == "not_started" && e.entered != 0:
		return "the record says that the tool was not started, and it was entered"
	case state == "READY" && e.Told != "READY" && e.Told != "" && e.Settled != "ok" && e.Retained != "not_stored":
		return fmt.Sprintf("the record is READY, the model was told %s, and nobody tried to store it later", e.Told)
	}
	return ""
}

// falseCount: the runner counted something else than the file has.
func falseCount(e evidence) string {
	if e.Entries != e.entered {
		return fmt.Sprintf("the runner counted %d entries, the file has %d", e.Entries, e.entered)
	}
	return ""
}

// wrongState: the runner saw another end than the server has.
func wrongState(e evidence) string {
	if e.State != e.state() || e.Code != e.field("cd") {
		return fmt.Sprintf("the runner saw %q %q, the server has %q %q", e.State, e.Code, e.state(), e.field("cd"))
	}
	return ""
}

// wrongBarrier: an effect that nobody knows blocks its run until it is resolved,
// and nothing else does.
func wrongBarrier(e evidence) string {
	_, up := e.run.effects[e.Call]
	unknown := e.state() == "ERROR" && e.field("xe") == "unknown" && e.field("ef") != "read"
	resolved := e.run.settled[e.Call]["rv"] != ""
	switch {
	case unknown && !resolved && !up:
		return "an effect is unknown, and its run is not blocked"
	case up && (e.state() == "READY" || e.field("xe") == "completed" || e.field("xe") == "not_started" || resolved):
		return "an effect is known, and its run is blocked"
	case up && e.field("ef") == "read":
		return "a read blocks its run"
	}
	return ""
}

// wrongFields: an ended record has a body that it does not name, or lacks one
// that it names.
func wrongFields(e evidence) string {
	if e.record == nil || e.state() == "PROJECTING" {
		return ""
	}
	if e.state() == "" {
		return "a hash under the record's key has no state"
	}
	named := strings.Fields(e.field("ac"))
	for name := range e.record.bodies {
		if !slices.Contains(named, name) {
			return "the record has a body that it does not name: " + name
		}
	}
	for _, name := range named {
		if _, there := e.record.bodies[name]; !there {
			return "the record names a body that is not there: " + name
		}
	}
	return ""
}
