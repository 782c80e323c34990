package checker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// place is one combination of a fault with a message and a place in it.
type place struct{ Section, Fault, Script, Place string }

// line is one line of the report; see the comment of package faults.
type line struct {
	Kind    string `json:"kind"`
	Section string `json:"section"`
	Fault   string `json:"fault"`
	Script  string `json:"script"`
	Place   string `json:"place"`

	Asked  int    `json:"asked"`
	Reason string `json:"reason"`

	Seed           uint64 `json:"seed"`
	Part           int    `json:"part"`
	Base           string `json:"base"`
	Call           string `json:"call"`
	Effect         string `json:"effect"`
	SHA256         string `json:"sha256"`
	Told           string `json:"told"`
	Ran            string `json:"ran"`
	Agent          string `json:"agent_sha256"`
	Again          string `json:"again"`
	Listed         bool   `json:"listed"`
	Entries        int    `json:"entries"`
	State          string `json:"state"`
	Code           string `json:"code"`
	Retained       string `json:"retained"`
	RetainedSHA256 string `json:"retained_sha256"`
	Settled        string `json:"settled"`
	Gone           string `json:"gone"`
	Broken         string `json:"broken"`
}

func (l line) at() place { return place{l.Section, l.Fault, l.Script, l.Place} }

// tail is a file of which more is read each time it is looked at.
type tail struct {
	path   string
	offset int64
	number int // of the last line
}

// next reads the whole lines that were added. A last line without an end is an
// error at the end of the report only; before that it may still be written.
func (t *tail) next(take func(number int, text []byte) error) error {
	f, err := os.Open(t.path)
	if errors.Is(err, os.ErrNotExist) && t.offset == 0 {
		return nil // nothing was written yet
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(t.offset, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		t.offset += int64(len(text))
		t.number++
		if err := take(t.number, bytes.TrimSuffix(text, []byte("\n"))); err != nil {
			return err
		}
	}
}

// rest is how many bytes were not read, for want of an end of line.
func (t *tail) rest() (int64, error) {
	info, err := os.Stat(t.path)
	if errors.Is(err, os.ErrNotExist) && t.offset == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size() - t.offset, nil
}

// parse reads one line of the report, and nothing but what may stand there.
func parse(number int, text []byte) (line, error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return line{}, fmt.Errorf("line %d of the report: %w", number, err)
	}
	if l.Section == "" || l.Fault == "" || l.Kind != "call" && l.Kind != "plan" && l.Kind != "not tested" {
		return line{}, fmt.Errorf("line %d of the report: kind, section or fault is missing", number)
	}
	return l, nil
}
