package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Bounds of what is read; more than any message of the store has.
const (
	maxFrame = 64 << 20 // bytes of one command or reply
	maxDepth = 16       // of nested replies
	maxParts = 1 << 20  // elements of one list
)

// span is where a bulk's body lies in its frame.
type span struct{ from, to int }

// frame is one value of the protocol, byte for byte, and where its bulks are.
type frame struct {
	raw   []byte
	bulks []span // bodies of all bulk strings, nested ones too, in order
}

// kind is the byte that says what the frame is.
func (f *frame) kind() byte { return f.raw[0] }

// bulk is the i-th bulk string, empty if there is none.
func (f *frame) bulk(i int) string {
	if i < 0 || i >= len(f.bulks) {
		return ""
	}
	return string(f.raw[f.bulks[i].from:f.bulks[i].to])
}

var errFrame = errors.New("proxy: not a message of the protocol")

// readFrame reads one whole value. An io.EOF before its first byte is io.EOF.
func readFrame(r *bufio.Reader) (*frame, error) {
	f := &frame{}
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	if err := f.read(r, 0); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *frame) read(r *bufio.Reader, depth int) error {
	line, err := f.line(r)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("%w: too deep", errFrame)
	}
	switch line[0] {
	case '$', '!', '=':
		return f.body(r, line)
	case '*', '~', '>':
		return f.list(r, line, 1, depth)
	case '%':
		return f.list(r, line, 2, depth)
	case '|': // an attribute: it precedes the value that it is about
		if err := f.list(r, line, 2, depth); err != nil {
			return err
		}
		return f.read(r, depth)
	default:
		return nil
	}
}

// line reads to the end of a line and answers it without its end.
func (f *frame) line(r *bufio.Reader) ([]byte, error) {
	start := len(f.raw)
	for {
		part, err := r.ReadSlice('\n')
		f.raw = append(f.raw, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(f.raw) > maxFrame {
			return nil, err
		}
	}
	line := f.raw[start:]
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, fmt.Errorf("%w: a line without its end", errFrame)
	}
	return line[:len(line)-2], nil
}

func (f *frame) body(r *bufio.Reader, line []byte) error {
	size, err := number(line)
	if err != nil || size < 0 { // -1 is null
		return err
	}
	start := len(f.raw)
	if start+size+2 > maxFrame {
		return fmt.Errorf("%w: too large", errFrame)
	}
	for left := size + 2; left > 0; { // as it comes: a length alone must not take memory
		from, part := len(f.raw), min(left, 64<<10)
		f.raw = append(f.raw, make([]byte, part)...)
		if _, err := io.ReadFull(r, f.raw[from:]); err != nil {
			return err
		}
		left -= part
	}
	f.bulks = append(f.bulks, span{start, start + size})
	return nil
}

func (f *frame) list(r *bufio.Reader, line []byte, each, depth int) error {
	n, err := number(line)
	if err != nil {
		return err
	}
	if n > maxParts {
		return fmt.Errorf("%w: too many elements", errFrame)
	}
	for range n * each {
		if err := f.read(r, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func number(line []byte) (int, error) {
	n, err := strconv.Atoi(string(line[1:]))
	if err != nil || n < -1 {
		return 0, fmt.Errorf("%w: a length that is none", errFrame)
	}
	return n, nil
}

// middle is a place strictly inside a bulk, for a cut: of the largest bulk, or
// of one that seed chooses. It reports false where no bulk has two bytes.
func (f *frame) middle(largest bool, seed uint64) (int, bool) {
	var fit []span
	for _, s := range f.bulks {
		if s.to-s.from >= 2 {
			fit = append(fit, s)
		}
	}
	if len(fit) == 0 {
		return 0, false
	}
	chosen := fit[seed%uint64(len(fit))]
	if largest {
		for _, s := range fit {
			if s.to-s.from > chosen.to-chosen.from {
				chosen = s
			}
		}
	}
	inner := uint64(chosen.to - chosen.from - 1)
	return chosen.from + 1 + int(seed/uint64(len(fit))%inner), true
}
