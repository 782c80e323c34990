package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/retrieval"
)

// Manifest is what an exported file holds, or the first thing in it that does not fit.
type Manifest struct {
	OK   bool   `json:"ok"`
	File string `json:"file,omitempty"` // as it was given

	// Where OK.
	Scope       *canonical.Scope `json:"scope,omitempty"`
	Run         canonical.RunID  `json:"run_id,omitempty"`
	Complete    *bool            `json:"complete,omitempty"` // the run was closed and nothing was open
	Calls       *int64           `json:"calls,omitempty"`    // admitted
	Gone        *int64           `json:"gone,omitempty"`     // of them deleted or expired
	Settlements *int64           `json:"settlements,omitempty"`
	Bytes       *int64           `json:"bytes,omitempty"`
	SHA256      string           `json:"sha256,omitempty"` // keep it elsewhere: it tells later whether this is the file

	// Where not.
	Line   int    `json:"line,omitempty"`   // the first that does not fit, from 1
	Record string `json:"record,omitempty"` // which record it is: "run", "call <turn>:<id>", ...
	Reason string `json:"reason,omitempty"`
}

func manifestOf(m retrieval.Manifest) Manifest {
	return Manifest{
		OK: true, Scope: &m.Scope, Run: m.Run, Complete: &m.Complete, Calls: &m.Calls, Gone: &m.Gone, Settlements: &m.Settlements,
		Bytes: &m.Bytes, SHA256: m.SHA256,
	}
}

// Export writes a run. With an error, what was written is no whole file, and [Verify] refuses it.
func (r *Reader) Export(ctx context.Context, w io.Writer, run canonical.RunID) (Manifest, error) {
	out := &writer{out: w}
	made, err := r.reader.Export(ctx, out, run)
	switch {
	case out.err != nil: // the reader takes it for trouble with the store
		return Manifest{}, &FileTrouble{cause: out.err}
	case err != nil:
		return Manifest{}, r.told(err, "run")
	}
	return manifestOf(made), nil
}

// writer keeps the first error.
type writer struct {
	out io.Writer
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// ExportFile writes a run to a file that must not be there yet, for its owner alone, and verifies what is on the disk.
// With an error there is no file.
func (r *Reader) ExportFile(ctx context.Context, name string, run canonical.RunID) (made Manifest, err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Manifest{}, &FileTrouble{cause: err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	made, err = r.Export(ctx, file, run)
	if err == nil {
		err = trouble(file.Sync())
	}
	if err = errors.Join(err, trouble(file.Close())); err != nil {
		return Manifest{}, err
	}
	again, err := Verify(name, made.SHA256)
	if err != nil {
		return Manifest{}, fmt.Errorf("the file is not what was written: %w", err)
	}
	return again, nil
}

// Verify checks an exported file without any store. What does not fit is a [*retrieval.FileError] and told in the
// document, too; so is a digest that is not the wanted one, where one is given.
func Verify(name, want string) (Manifest, error) {
	file, err := os.Open(name)
	if err != nil {
		return Manifest{File: name}, &FileTrouble{cause: err}
	}
	defer file.Close()
	made, err := retrieval.Verify(file)
	var wrong *retrieval.FileError
	switch {
	case errors.As(err, &wrong):
		return Manifest{File: name, Line: wrong.Line, Record: wrong.Record, Reason: wrong.Reason}, err
	case err != nil:
		return Manifest{File: name}, &FileTrouble{cause: err}
	}
	found := manifestOf(made)
	found.File = name
	if want != "" && want != made.SHA256 {
		return Manifest{File: name, Reason: errDigest.Error()}, errDigest
	}
	return found, nil
}

// errDigest: the file is whole, and another one than the one that was meant.
var errDigest = fmt.Errorf("%w: the file has another digest than was asked for", retrieval.ErrExport)

// FileTrouble is trouble with a file. It names the kind of trouble and not the file, which the caller knows.
type FileTrouble struct{ cause error }

// Error is what the system says.
func (e *FileTrouble) Error() string {
	var path *fs.PathError
	if errors.As(e.cause, &path) {
		return path.Err.Error()
	}
	return e.cause.Error()
}

// Unwrap gives the cause, which may name the file.
func (e *FileTrouble) Unwrap() error { return e.cause }

func trouble(err error) error {
	if err == nil {
		return nil
	}
	return &FileTrouble{cause: err}
}
