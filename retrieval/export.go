package retrieval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// Manifest says what an exported file holds.
type Manifest struct {
	Scope       canonical.Scope
	Run         canonical.RunID
	Complete    bool  // the run was closed and nothing was open
	Calls       int64 // admitted
	Gone        int64 // of them deleted or expired
	Settlements int64
	Bytes       int64 // of the whole file

	// SHA256 is over the file but for its last line, which has it. Who keeps it
	// elsewhere can tell later that the file was not replaced by another whole one.
	SHA256 string
}

// Export writes a run as one self-contained file of JSON lines, for the host
// alone: nothing is redacted, and whoever has the file has the data. Everything
// is verified on its way; a record that cannot be read ends the export with an
// error that names its place, and a file that ends there is refused by [Verify].
// A run that is not closed is written as it is, up to the calls that were
// admitted when the export began.
func (r *Reader) Export(ctx context.Context, w io.Writer, run canonical.RunID) (Manifest, error) {
	const op = "export"
	give, err := r.take(op)
	if err != nil {
		return Manifest{}, err
	}
	defer give()
	first, err := r.runLine(ctx, op, run)
	if err != nil {
		return Manifest{}, err
	}
	out := &exporter{w: w, whole: sha256.New(), made: Manifest{Scope: r.scope, Run: run, Complete: first.Complete, Calls: first.Calls}}
	out.line(lineRun, first)
	for after := int64(0); after < first.Calls && out.err == nil; {
		page, err := r.store.Order(ctx, r.key(run), after, int(min(first.Calls-after, lookPage)))
		if err != nil {
			return Manifest{}, of(op, err)
		}
		if len(page) == 0 {
			return Manifest{}, &Error{Op: op, Field: "order", Err: ErrCorrupt, Got: after, Limit: first.Calls}
		}
		for _, n := range page {
			if err := r.exportCall(ctx, op, out, run, n); err != nil {
				return Manifest{}, err
			}
			after = n.Seq
		}
	}
	return out.close(op)
}

func (r *Reader) runLine(ctx context.Context, op string, run canonical.RunID) (runLine, error) {
	state, err := r.store.Inspect(ctx, r.key(run))
	if err != nil {
		return runLine{}, of(op, err)
	}
	waits, err := r.store.Outstanding(ctx, r.key(run))
	if err != nil {
		return runLine{}, of(op, err)
	}
	return runLine{
		Type: lineRun, Format: ExportFormat, Scope: r.scope, Run: run, Phase: state.Phase,
		Complete: state.Phase == canonical.RunClosed && len(waits.Open) == 0, Calls: state.LastSeq,
		Principal: state.Principal, Continues: state.Continues, Deadline: state.Deadline, Expires: state.Expires, At: state.Now,
	}, nil
}

// exportCall writes one call and what was settled of it.
func (r *Reader) exportCall(ctx context.Context, op string, out *exporter, run canonical.RunID, n canonical.Numbered) error {
	line := callLine{Type: lineCall, Seq: n.Seq, Turn: n.Call.Turn, ToolCallID: n.Call.ID}
	heads, err := r.store.Heads(ctx, r.key(run), []canonical.CallName{n.Call})
	switch {
	case err != nil:
		return of(op, err)
	case heads[0].Fault != nil:
		return atCall(of(op, heads[0].Fault), n)
	case heads[0].Exists():
		record, err := r.record(ctx, op, heads[0])
		switch {
		case err == nil && record.Seq != n.Seq:
			return atCall(fail(op, "", ErrCorrupt), n)
		case err == nil:
			line.Record = formOfRecord(record)
		case !isMissing(err):
			return atCall(err, n)
		}
	}
	if line.Record == nil {
		line.Gone = true
		out.made.Gone++
	}
	out.line(lineCall+" "+n.Call.String(), line)
	if line.Record != nil && line.Record.State != lifecycle.Error {
		return nil
	}
	settled, err := r.store.SettlementOf(ctx, r.key(run), n.Call)
	if err != nil {
		return atCall(of(op, err), n)
	}
	if settled.Late != nil || settled.Resolved != nil {
		out.line(lineSettlement+" "+n.Call.String(), formOfSettlement(n, settled))
		out.made.Settlements++
	}
	return nil
}

// atCall adds the place of a call to an error.
func atCall(err error, n canonical.Numbered) error {
	own, ok := err.(*Error)
	if !ok {
		return err
	}
	with := *own
	with.Field, with.Got = "call "+n.Call.String(), n.Seq
	return &with
}

func formOfSettlement(n canonical.Numbered, s canonical.Settlement) settlementLine {
	line := settlementLine{Type: lineSettlement, Seq: n.Seq, Turn: n.Call.Turn, ToolCallID: n.Call.ID}
	if s.Late != nil {
		v := s.Late.Verdict
		line.Late = &lateForm{
			State: v.State, Code: v.Code, Status: v.Evidence, Execution: v.Execution, At: s.Late.At,
			Raw: formOfRaw(s.Late.Raw), Agent: formOf(s.Late.Agent),
		}
	}
	if s.Resolved != nil {
		line.Resolved = &resolvedForm{Verdict: s.Resolved.Verdict, Evidence: s.Resolved.Evidence}
	}
	return line
}

// exporter writes lines and remembers their digests. After an error it does
// nothing.
type exporter struct {
	w     io.Writer
	whole hash.Hash
	lines []manifestItem
	made  Manifest
	err   error
}

// line writes one line and takes it up into the manifest.
func (e *exporter) line(name string, value any) {
	text := e.put(value)
	e.lines = append(e.lines, manifestItem{Name: name, SHA256: canonical.Body(text).SHA256()})
	e.whole.Write(text)
}

// put writes one line.
func (e *exporter) put(value any) []byte {
	if e.err != nil {
		return nil
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		e.err = err
		return nil
	}
	text = append(text, '\n')
	if len(text) > MaxExportLine {
		e.err = &Error{Op: "export", Field: "line", Err: ErrTooLarge, Got: int64(len(text)), Limit: MaxExportLine}
		return nil
	}
	_, e.err = e.w.Write(text)
	e.made.Bytes += int64(len(text))
	return text
}

// close writes manifest and end.
func (e *exporter) close(op string) (Manifest, error) {
	manifest := e.put(manifestLine{Type: lineManifest, Lines: e.lines})
	e.whole.Write(manifest)
	e.made.SHA256 = hex.EncodeToString(e.whole.Sum(nil))
	e.put(endLine{Type: lineEnd, Manifest: canonical.Body(manifest).SHA256(), File: e.made.SHA256})
	if e.err != nil {
		return Manifest{}, of(op, e.err)
	}
	return e.made, nil
}
