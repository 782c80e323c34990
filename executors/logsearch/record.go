package logsearch

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
)

// record is one record as it stands in its source.
type record struct {
	Head
	dated  bool   // it began with a line that the parser knows; false: only at the front of a source
	offset int64  // of its first byte in the source
	before tail   // what stands before it
	text   string // all its lines as they stand, the last line end left out; cut at the limit
	first  int    // length of the first line in text
	cut    bool   // it has more bytes than text
}

// message is what the head left of the first line, and the other lines.
func (r *record) message() string { return r.Message + r.text[r.first:] }

// place is where the record begins, in a source of this number.
func (r *record) place(source int) place { return place{source, r.offset, r.before.guard()} }

// tailBytes is how much of a source a cursor remembers.
const tailBytes = 64

// tail holds the last bytes that went by, up to [tailBytes].
type tail struct {
	bytes [tailBytes]byte
	n     int
}

func (t *tail) add(piece []byte) {
	if over := t.n + len(piece) - tailBytes; over > 0 {
		t.n = copy(t.bytes[:], t.bytes[min(over, t.n):t.n])
	}
	piece = piece[max(0, len(piece)-tailBytes):]
	t.n += copy(t.bytes[t.n:], piece)
}

// guard is a digest of the bytes right before a place in a source. A source that
// was replaced or cut since rarely has the same.
type guard [8]byte

func (t *tail) guard() guard {
	sum := sha256.Sum256(t.bytes[:t.n])
	return guard(sum[:len(guard{})])
}

// recordReader joins the lines of one source into records.
type recordReader struct {
	lines  *lineReader
	parser Parser
	max    int // bytes of a record that are kept

	next  *parsedLine // read already; begins the next record
	knows bool        // some line was one that the parser knows
}

// newRecordReader reads in from a place on; before are the bytes ahead of it.
func newRecordReader(in io.Reader, parser Parser, at place, before tail, most int) *recordReader {
	return &recordReader{lines: newLineReader(in, at.offset, before, most), parser: parser, max: most}
}

// parsedLine is a line and what the parser said of it.
type parsedLine struct {
	line
	head   Head
	begins bool
}

// read returns the next record, or io.EOF behind the last. Any other error ends
// the source before its end; the record that it broke off is not returned.
func (r *recordReader) read() (record, error) {
	first := r.next
	if r.next = nil; first == nil {
		var err error
		if first, err = r.parse(); err != nil {
			return record{}, err
		}
	}
	rec := record{Head: first.head, dated: first.begins, offset: first.offset, before: first.before, cut: first.cut}
	if !rec.dated {
		rec.Head = Head{Message: first.text}
	}
	return r.join(rec, first.line)
}

func (r *recordReader) parse() (*parsedLine, error) {
	next, err := r.lines.read()
	if err != nil {
		return nil, err
	}
	head, begins := r.parser.ParseLine(next.text)
	r.knows = r.knows || begins
	return &parsedLine{next, head, begins}, nil
}

// join appends the lines that belong to rec, up to the next that begins one.
func (r *recordReader) join(rec record, first line) (record, error) {
	text, end := first.text, first.end
	var all strings.Builder // made use of where there is more than one line
	for {
		next, err := r.parse()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return record{}, err
		}
		if next.begins {
			r.next = next
			break
		}
		if all.Len() == 0 {
			all.WriteString(first.text)
		}
		if !rec.cut { // behind a cut nothing may follow as if it stood there
			room := r.max - all.Len() - len(end)
			if rec.cut = next.cut || len(next.text) > room; room > 0 || !rec.cut {
				all.WriteString(end)
				all.WriteString(next.text[:min(room, len(next.text))])
			}
		}
		text, end = all.String(), next.end
	}
	rec.text, rec.first = text, len(first.text)
	return rec, nil
}

// ahead is the place of the record that read returns next.
func (r *recordReader) ahead(source int) place {
	if r.next == nil {
		return r.end(source)
	}
	return place{source, r.next.offset, r.next.before.guard()}
}

// end is the place behind all that was read.
func (r *recordReader) end(source int) place {
	return place{source, r.lines.offset, r.lines.before.guard()}
}

// consumed is how many bytes were read from the source.
func (r *recordReader) consumed() int64 { return r.lines.offset - r.lines.start }

// line is one line of a source.
type line struct {
	text   string // without its end; cut at the limit
	end    string // "\n", "\r\n", or nothing at the end of a source
	offset int64
	before tail
	cut    bool
}

// lineReader reads lines of any length in bounded memory.
type lineReader struct {
	in     *bufio.Reader
	max    int
	start  int64 // where reading began
	offset int64 // of the next byte
	before tail
	buffer []byte
}

func newLineReader(r io.Reader, offset int64, before tail, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10), max: most, start: offset, offset: offset, before: before}
}

// read returns the next line, io.EOF where there is none, or the error that the
// source gave before the line had ended.
func (l *lineReader) read() (line, error) {
	out := line{offset: l.offset, before: l.before}
	l.buffer = l.buffer[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		l.offset += int64(len(piece))
		l.before.add(piece)
		kept := piece[:min(len(piece), max(0, l.max+len("\r\n")-len(l.buffer)))]
		l.buffer = append(l.buffer, kept...)
		out.cut = out.cut || len(kept) < len(piece)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && l.offset > out.offset, err == nil:
			return l.finish(out), nil
		default:
			return line{}, err
		}
	}
}

// finish takes the line end away, which is not there in a line that was cut.
func (l *lineReader) finish(out line) line {
	text := l.buffer
	if !out.cut {
		text = bytes.TrimSuffix(text, []byte("\n"))
		if len(text) < len(l.buffer) {
			text = bytes.TrimSuffix(text, []byte("\r"))
		}
		out.end = string(l.buffer[len(text):])
	}
	if len(text) > l.max {
		text, out.cut = text[:l.max], true
	}
	out.text = string(text)
	return out
}
