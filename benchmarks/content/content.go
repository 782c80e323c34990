// Package content makes bodies for benchmarks out of real things: rows of a music
// shop's database, lines of a message broker's log, articles of a bank.
//
//	Rows       a JSON object with columns and rows      Chinook, this module's testdata
//	Lines      a JSON object with log lines             Kafka, as package logsearch is tested with
//	Documents  a JSON object with whole articles        as package docsearch is tested with
//
// # Guarantees
//
// A body has exactly the size asked for and is one JSON value in valid UTF-8: it is
// filled with whole entries, beginning at a different one for every variant, and
// then with blanks; one that is shorter than any entry has the beginning of one. Bodies larger than the source repeat it. The same arguments give
// the same bytes.
//
// # Not guaranteed
//
// Bodies of several MiB repeat a source of a few hundred KiB, so a compressor with a
// window of that size finds more in them than in a result that never repeats.
package content

import (
	"bufio"
	"bytes"
	_ "embed" // the rows are part of the program
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	documents "github.com/toolharness/harness/executors/docsearch/testdata"
	logs "github.com/toolharness/harness/executors/logsearch/testdata"
)

// Kind is one of the three shapes.
type Kind int

// The kinds, in the order in which [Set] takes turns.
const (
	Rows Kind = iota
	Lines
	Documents
	kinds
)

// Variants is how many different bodies a [Set] has.
const Variants = 9

// MinSize is the least that a body can have, in bytes: its frame.
const MinSize = 256

// maxAgent bounds what a model gets of one result, in bytes.
const maxAgent = 2 << 10

// requestSize is the size of the arguments of one call, in bytes.
const requestSize = 1 << 10

//go:embed testdata/chinook/tracks.jsonl
var tracks string

// Source has the entries that bodies are made of.
type Source struct {
	entries [kinds][]string // JSON values
}

// Load reads the three sources. The error says which of them cannot be read.
func Load() (*Source, error) {
	s := &Source{}
	s.entries[Rows] = nonEmptyLines(tracks)
	s.entries[Documents] = nonEmptyLines(documents.BankArticles())
	names, err := fs.Glob(logs.KafkaLogs(), "*.log")
	if err != nil {
		return nil, fmt.Errorf("content: log files: %w", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(logs.KafkaLogs(), name)
		if err != nil {
			return nil, fmt.Errorf("content: log file: %w", err)
		}
		for _, line := range nonEmptyLines(string(text)) {
			s.entries[Lines] = append(s.entries[Lines], quoted(line))
		}
	}
	for kind, entries := range s.entries {
		if len(entries) == 0 {
			return nil, fmt.Errorf("content: source %d is empty", kind)
		}
	}
	return s, nil
}

func nonEmptyLines(text string) (lines []string) {
	scan := bufio.NewScanner(strings.NewReader(text))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if line := strings.TrimSpace(scan.Text()); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func quoted(text string) string {
	out, _ := json.Marshal(strings.ToValidUTF8(text, "?")) // a string can always be written
	return string(out)
}

// frames are what stands around the entries.
var frames = [kinds][2]string{
	Rows:      {`{"columns":["TrackId","Name","Artist","Album","Composer","Genre","Milliseconds","Bytes","UnitPrice"],"rows":[`, `]}`},
	Lines:     {`{"source":"kafka","lines":[`, `]}`},
	Documents: {`{"index":"bank articles","documents":[`, `]}`},
}

// Body makes a body of exactly size bytes, at least [MinSize]. Variants begin at
// different entries.
func (s *Source) Body(kind Kind, variant, size int) []byte {
	head, tail := frames[kind][0], frames[kind][1]
	entries := s.entries[kind]
	out := append(make([]byte, 0, size), head...)
	skipped := 0
	for i := variant * 97; skipped < len(entries); i++ {
		entry := entries[i%len(entries)]
		if len(out)+len(entry)+1+len(tail) > size {
			skipped++ // a shorter one may still fit
			if size-len(out) < MinSize {
				break
			}
			continue
		}
		if len(out) > len(head) {
			out = append(out, ',')
		}
		out = append(out, entry...)
	}
	if len(out) == len(head) { // every entry is longer than the body
		out = append(out, passage(entries[variant*97%len(entries)], size-len(out)-len(tail))...)
	}
	out = append(out, tail...)
	return append(out, bytes.Repeat([]byte{' '}, size-len(out))...)
}

// passage is the beginning of an entry as a JSON string of at most room bytes.
func passage(entry string, room int) string {
	for n := room; n > 0; n-- {
		if text := quoted(string(prefix([]byte(entry), n))); len(text) <= room {
			return text
		}
	}
	return ""
}

// Set is the bodies of one benchmark.
type Set struct {
	Size     int      // of a raw result
	Requests [][]byte // one JSON object each, 1 KiB
	Raw      [][]byte
	Agent    [][]byte // what a model gets of each: its beginning, 2 KiB at most
	Whole    [][]byte // request, raw and agent result behind each other
}

// Set makes bodies of the three kinds in turn.
func (s *Source) Set(size int) Set {
	set := Set{Size: size}
	for v := range Variants {
		request := s.request(v)
		raw := s.Body(Kind(v%int(kinds)), v, size)
		agent := prefix(raw, maxAgent)
		set.Requests = append(set.Requests, request)
		set.Raw = append(set.Raw, raw)
		set.Agent = append(set.Agent, agent)
		set.Whole = append(set.Whole, bytes.Join([][]byte{request, raw, agent}, nil))
	}
	return set
}

// request is the arguments of a call: some log lines to look for.
func (s *Source) request(variant int) []byte {
	return s.Body(Lines, 1000+variant, requestSize)
}

// prefix is the beginning of a text, cut between characters.
func prefix(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
