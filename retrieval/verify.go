package retrieval

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// FileError says which line of an exported file is the first that does not fit.
// It has no text of the file but names of calls that are well formed.
type FileError struct {
	Line   int    // from 1
	Record string // as in the manifest: "run", "call <turn>:<id>", ...; empty where it cannot be told
	Reason string
}

// Error has line, record and reason.
func (e *FileError) Error() string {
	if e.Record == "" {
		return fmt.Sprintf("retrieval: verify: line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("retrieval: verify: line %d (%s): %s", e.Line, e.Record, e.Reason)
}

// Unwrap returns [ErrExport].
func (e *FileError) Unwrap() error { return ErrExport }

// Verify reads an exported run and checks it without any store: every line
// against the manifest, the manifest and the whole file against the last line,
// every body against its digest, references against the bodies they name,
// operation keys against requests that are as they were sent, and the order of the calls. What does not
// fit is a [*FileError] for the first such line; trouble with reading is
// [ErrUnavailable].
//
// It holds one line in memory at a time. It shows that the file is what was
// written. Who wrote it, it cannot show: compare Manifest.SHA256 with one that was
// kept elsewhere.
func Verify(in io.Reader) (Manifest, error) {
	v := &verifier{whole: sha256.New(), ids: map[canonical.EvidenceID]bool{}, last: -1}
	lines := bufio.NewReaderSize(in, 8<<10)
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLongLine) {
			return Manifest{}, &Error{Op: "verify", Err: ErrUnavailable, cause: err}
		}
		v.number++
		v.made.Bytes += int64(len(line))
		v.line(line, err)
		if v.over() {
			break
		}
	}
	return v.judge()
}

var errLongLine = errors.New("the line is too long")

// readLine reads one line with its end. A line without one comes with io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxExportLine {
			return line, errLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// verifier goes through a file once. It keeps the first thing that is wrong and
// reads on, since the manifest at the end may know of an earlier one.
type verifier struct {
	number int
	whole  hash.Hash
	digest []string // of each line before the manifest
	names  []string
	made   Manifest

	run      *runLine
	last     int64 // sequence of the last call; -1 before the run's line
	call     canonical.CallName
	gone     bool
	settled  bool
	ids      map[canonical.EvidenceID]bool
	manifest *manifestLine
	sum      string // of the manifest's line
	atList   int    // number of the manifest's line
	ended    bool

	wrong *FileError
}

// say keeps the first thing that is wrong.
func (v *verifier) say(record, reason string) {
	if v.wrong == nil {
		v.wrong = &FileError{Line: v.number, Record: record, Reason: reason}
	}
}

// over: nothing behind this point can say more.
func (v *verifier) over() bool { return v.ended && v.number > v.atList+1 }

// line takes one line.
func (v *verifier) line(text []byte, read error) {
	if v.ended {
		v.say("", "there is something behind the end")
		return
	}
	var kind struct {
		Type string `json:"type"`
	}
	switch {
	case errors.Is(read, errLongLine):
		v.say("", "longer than a line may be")
	case read != nil:
		v.say("", "cut off")
	case json.Unmarshal(text, &kind) != nil:
		v.say("", "not JSON")
	}
	if kind.Type == lineEnd {
		v.end(text)
		return
	}
	v.whole.Write(text)
	switch {
	case v.manifest != nil:
		v.say("", "it stands behind the manifest")
		return
	case kind.Type == lineManifest:
		v.list(text)
		return
	}
	name, reason := v.content(kind.Type, text)
	v.digest, v.names = append(v.digest, canonical.Body(text).SHA256()), append(v.names, name)
	if reason != "" {
		v.say(name, reason)
	}
}

// strictly reads a line of a known form: no member that is not known, nothing
// behind it.
func strictly(text []byte, into any) bool {
	return json.Unmarshal(text, into, json.RejectUnknownMembers(true)) == nil
}

// content checks a line before the manifest and says what it is and what is wrong.
func (v *verifier) content(kind string, text []byte) (name, reason string) {
	if v.run == nil && kind != lineRun {
		return "", "the run's line is missing"
	}
	switch kind {
	case lineRun:
		return lineRun, v.first(text)
	case lineCall:
		var line callLine
		if !strictly(text, &line) || line.name().Validate() != nil {
			return "", "malformed"
		}
		return lineCall + " " + line.name().String(), v.one(line)
	case lineSettlement:
		var line settlementLine
		if !strictly(text, &line) || line.name().Validate() != nil {
			return "", "malformed"
		}
		return lineSettlement + " " + line.name().String(), v.later(line)
	}
	return "", "of an unknown kind"
}

func (v *verifier) first(text []byte) string {
	var line runLine
	switch {
	case v.run != nil:
		return "a second run"
	case json.Unmarshal(text, &line) != nil:
		return "malformed"
	case line.Format != ExportFormat:
		return "of another format"
	case !strictly(text, &line), canonical.RunKey{Scope: line.Scope, Run: line.Run}.Validate() != nil:
		return "malformed"
	}
	v.run, v.last = &line, 0
	v.made.Scope, v.made.Run, v.made.Complete, v.made.Calls = line.Scope, line.Run, line.Complete, line.Calls
	return ""
}

// one checks a call.
func (v *verifier) one(line callLine) string {
	if line.Seq != v.last+1 {
		return "out of order"
	}
	v.last, v.call, v.gone, v.settled = line.Seq, line.name(), line.Gone, false
	if line.Gone != (line.Record == nil) {
		return "malformed"
	}
	if line.Gone {
		v.made.Gone++
		return ""
	}
	f := line.Record
	if v.ids[f.EvidenceID] {
		return "its evidence id was given before"
	}
	v.ids[f.EvidenceID] = true
	if f.Request == nil {
		return "the request is missing"
	}
	for _, b := range []struct {
		name string
		form *bodyForm
	}{{"request", f.Request}, {"raw result", f.Raw}, {"agent result", f.Agent}, {"facts", f.Facts}, {"coverage", f.Coverage}} {
		if b.form == nil {
			continue
		}
		if _, ok := b.form.body(); !ok {
			return "the " + b.name + " does not match its digest"
		}
	}
	request, _ := f.Request.body()
	id := canonical.Identity{RunKey: canonical.RunKey{Scope: v.run.Scope, Run: v.run.Run}, Call: line.name()}
	if f.Redacted == "" && f.OperationKey != id.OperationKey(request) {
		return "the operation key is not that of the request"
	}
	return f.consistent(id)
}

// consistent checks verdict and reference of a record.
func (f *recordForm) consistent(id canonical.Identity) string {
	if f.State != lifecycle.Projecting {
		verdict := lifecycle.Completion{State: f.State, Code: f.Code, Evidence: f.Status, Execution: f.Execution}
		if verdict.Validate() != nil {
			return "the verdict is not possible"
		}
	}
	if kept := f.Raw != nil && !f.Raw.Absent; kept != (f.Reference != nil) {
		return "reference and raw result do not go together"
	}
	if f.Reference == nil {
		return ""
	}
	ref := *f.Reference
	if ref.SHA256 != f.Raw.SHA256 || ref.Bytes != f.Raw.Bytes || ref.EvidenceID != string(f.EvidenceID) || ref.RunID != string(id.Run) ||
		ref.Turn != string(id.Call.Turn) || ref.ToolCallID != string(id.Call.ID) {
		return "the reference is not that of the raw result"
	}
	return ""
}

// later checks a settlement.
func (v *verifier) later(line settlementLine) string {
	if line.name() != v.call || line.Seq != v.last || v.settled {
		return "it does not stand behind its call"
	}
	v.settled = true
	v.made.Settlements++
	if line.Late == nil {
		return ""
	}
	for _, form := range []*bodyForm{line.Late.Raw, line.Late.Agent} {
		if form == nil {
			continue
		}
		if _, ok := form.body(); !ok {
			return "a body does not match its digest"
		}
	}
	return ""
}

// list takes the manifest.
func (v *verifier) list(text []byte) {
	var m manifestLine
	v.manifest, v.sum, v.atList = &m, canonical.Body(text).SHA256(), v.number
	if !strictly(text, &m) {
		m = manifestLine{}
		v.say(lineManifest, "malformed")
	}
	if v.run != nil && v.last != v.run.Calls {
		v.say(lineManifest, "calls are missing before it")
	}
}

// end takes the last line, which is written in one way only.
func (v *verifier) end(text []byte) {
	v.ended, v.made.SHA256 = true, hex.EncodeToString(v.whole.Sum(nil))
	if v.manifest == nil {
		v.say(lineEnd, "the manifest is missing")
		return
	}
	var line endLine
	if !strictly(text, &line) {
		v.say(lineEnd, "malformed")
		return
	}
	if line.Manifest == v.sum || line.File == v.made.SHA256 {
		v.lines() // else the manifest was altered and says nothing about the lines
	} else if v.wrong == nil || v.wrong.Line > v.atList {
		v.wrong = &FileError{Line: v.atList, Record: lineManifest, Reason: "it does not match the digest in the last line"}
	}
	want, err := json.Marshal(endLine{Type: lineEnd, Manifest: v.sum, File: v.made.SHA256}, json.Deterministic(true))
	if err != nil || !bytes.Equal(text, append(want, '\n')) {
		v.say(lineEnd, "it does not match the file")
	}
}

// lines compares every line with the manifest. One that differs and stands before
// what was found so far is the first that does not fit. The manifest also knows
// the name of a record that is too broken to tell its own.
func (v *verifier) lines() {
	listed := v.manifest.Lines
	for i := range max(len(listed), len(v.digest)) {
		if v.wrong != nil && v.wrong.Line <= i+1 {
			break
		}
		if i < len(listed) && i < len(v.digest) && listed[i].SHA256 == v.digest[i] && listed[i].Name == v.names[i] {
			continue
		}
		v.wrong = &FileError{Line: i + 1, Reason: "it does not match the manifest"}
		break
	}
	if v.wrong != nil && v.wrong.Line <= len(listed) {
		v.wrong.Record = wellFormed(listed[v.wrong.Line-1].Name)
	}
}

// wellFormed is a name out of a file, if it is one that this package writes.
func wellFormed(name string) string {
	kind, call, found := bytes.Cut([]byte(name), []byte(" "))
	if !found && name == lineRun {
		return name
	}
	if _, err := canonical.ParseCallName(string(call)); err != nil || string(kind) != lineCall && string(kind) != lineSettlement {
		return ""
	}
	return name
}

// judge is what came of it.
func (v *verifier) judge() (Manifest, error) {
	if !v.ended {
		v.number++
		v.say("", "the file ends before its last line")
	}
	if v.wrong != nil {
		return Manifest{}, v.wrong
	}
	return v.made, nil
}
