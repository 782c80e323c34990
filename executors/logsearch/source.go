package logsearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
)

// Source is one log: a file, a rotated part of it, or anything that can be read
// from its start.
type Source struct {
	// Name is what model, results and facts call it. 1 to 200 bytes of printable
	// text; distinct within a [Search].
	Name   string
	Parser Parser

	// Service and Instance stand in records that say nothing of their own.
	Service  string
	Instance string

	// Open starts at the first byte, each time anew. Where the reader is an
	// io.Seeker, a search that goes on from a cursor seeks; else it reads up to
	// there. The reader is closed when the search leaves the source.
	Open func(context.Context) (io.ReadCloser, error)
}

// Files makes a source of every file that matches one of the patterns, as
// [fs.Glob] reads them, in the order of the patterns and by name within one. The
// name of the file is the name of the source. A pattern that matches no file is
// an error: a search in nothing would find nothing.
//
// The list is made once. Files that come later belong to a later [Search].
func Files(fsys fs.FS, parser Parser, patterns ...string) ([]Source, error) {
	if fsys == nil || len(patterns) == 0 {
		return nil, &ConfigError{Field: "Files", Reason: "no file system or no pattern"}
	}
	var sources []Source
	seen := map[string]bool{}
	for _, pattern := range patterns {
		names, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, &ConfigError{Field: "Files", Reason: fmt.Sprintf("pattern %q is malformed", pattern), cause: err}
		}
		if len(names) == 0 {
			return nil, &ConfigError{Field: "Files", Reason: fmt.Sprintf("pattern %q matches no file", pattern)}
		}
		slices.Sort(names)
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				sources = append(sources, fileSource(fsys, name, parser))
			}
		}
	}
	return sources, nil
}

func fileSource(fsys fs.FS, name string, parser Parser) Source {
	return Source{Name: path.Clean(name), Parser: parser, Open: func(context.Context) (io.ReadCloser, error) { return fsys.Open(name) }}
}

// errStale means that a source is not what it was when a cursor was made.
var errStale = errors.New("logsearch: the source changed under the cursor")

// openAt opens a source at a place of a cursor and checks that it still is that
// place. before are the bytes right ahead of it.
func (s Source) openAt(ctx context.Context, at place) (in io.ReadCloser, before tail, err error) {
	if in, err = s.Open(ctx); err != nil || at.offset == 0 {
		return in, tail{}, err
	}
	if before, err = advance(ctx, in, at); err != nil {
		in.Close() // nothing was written to it
		return nil, tail{}, err
	}
	return in, before, nil
}

// advance goes on to a place from the first byte of a source.
func advance(ctx context.Context, in io.Reader, at place) (before tail, err error) {
	before.n = int(min(at.offset, tailBytes))
	if err := skip(ctx, in, at.offset-int64(before.n)); err != nil {
		return tail{}, err
	}
	if _, err := io.ReadFull(in, before.bytes[:before.n]); err != nil {
		return tail{}, shortened(err)
	}
	if before.guard() != at.guard {
		return tail{}, errStale
	}
	return before, nil
}

// skip goes on by n bytes from the start. Some that have a method to seek cannot,
// as a pipe, and some refuse to go behind their end; those are read.
func skip(ctx context.Context, in io.Reader, n int64) error {
	if seeker, ok := in.(io.Seeker); ok {
		if _, err := seeker.Seek(n, io.SeekStart); err == nil {
			return nil
		}
	}
	for n > 0 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		step, err := io.CopyN(io.Discard, in, min(n, 1<<20))
		if n -= step; err != nil {
			return shortened(err)
		}
	}
	return nil
}

// errOverlong means that a record has no end within what a search may read.
var errOverlong = errors.New("logsearch: a record is longer than a search may read")

// boundedReader ends with the context and at a number of bytes, also inside a
// record that never ends.
type boundedReader struct {
	ctx  context.Context
	in   io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	switch {
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case b.left <= 0:
		return 0, errOverlong
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// shortened tells a source that has become shorter than a cursor from one that
// cannot be read.
func shortened(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errStale
	}
	return err
}
