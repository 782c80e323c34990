package logsearch_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/executors/logsearch"
	"github.com/toolharness/harness/internal/vectors"
)

// kafkaFile is what expected.json counted in one file.
type kafkaFile struct {
	Bytes, Records int
	Levels         map[string]int
	First          string `json:"first_time"`
	Last           string `json:"last_time"`
	Queries        []struct {
		Contains string
		Matching int `json:"matching_lines"`
	}
	Disconnects []struct {
		Line int
		Time string
		Peer int
	}
}

const kafkaLayout = "2006-01-02 15:04:05"

func kafkaExpected(t testing.TB, fsys fs.FS) map[string]kafkaFile {
	t.Helper()
	content, err := fs.ReadFile(fsys, "expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]kafkaFile
	if err := json.Unmarshal(content, &files); err != nil || len(files) != 10 {
		t.Fatalf("expected.json names %d files, %v, want 10", len(files), err)
	}
	return files
}

func TestKafkaLogs(t *testing.T) {
	t.Parallel()
	checkKafka(t, os.DirFS("testdata/kafka-logs"))
}

// TestCheckData runs the same counts on the set as it is shared, which may hold
// other bytes one day than the copy in testdata.
func TestCheckData(t *testing.T) {
	t.Parallel()
	checkKafka(t, os.DirFS(vectors.Outside(t, "kafka-logs")))
}

// checkKafka compares every count of expected.json with searches of one file.
func checkKafka(t *testing.T, fsys fs.FS) {
	counts, lines := 0, 0
	for name, want := range kafkaExpected(t, fsys) {
		// Small pages, so that every search goes through cursors.
		s := newSearch(t, logsearch.Config{Sources: filesOf(t, fsys, logsearch.Log4j{}, name), Limits: logsearch.Limits{PageRecords: 50, MaxScanBytes: 1 << 20}})
		all := every(t, s, logsearch.Query{})
		levels := map[string]int{}
		for _, r := range all {
			levels[r.Level]++
		}
		if len(all) != want.Records || fmt.Sprint(levels) != fmt.Sprint(want.Levels) {
			t.Errorf("%s: got %d records, levels %v, want %d, %v", name, len(all), levels, want.Records, want.Levels)
		}
		for i, text := range map[int]string{0: want.First, len(all) - 1: want.Last} {
			if at, err := time.Parse(kafkaLayout, text); err != nil || !all[i].Time.Equal(at) {
				t.Errorf("%s: record %d is of %v, want %s", name, i, all[i].Time, text)
			}
		}
		for level, n := range want.Levels {
			if got := len(every(t, s, logsearch.Query{Levels: []string{strings.ToLower(level)}})); got != n {
				t.Errorf("%s: got %d records of %s, want %d", name, got, level, n)
			}
			counts++
		}
		for _, q := range want.Queries {
			got := 0
			for _, r := range every(t, s, logsearch.Query{Text: q.Contains}) {
				got += matchingLines(r, q.Contains)
			}
			if got != q.Matching {
				t.Errorf("%s: got %d lines with %q, want %d", name, got, q.Contains, q.Matching)
			}
			counts++
			lines += got
		}
		checkDisconnects(t, fsys, name, s, want)
	}
	t.Logf("%d counts by level and text agree, %d matching lines", counts, lines)
	if counts < 80 {
		t.Errorf("only %d counts were compared", counts)
	}
}

// matchingLines counts as grep does; the level stands in front of the message.
func matchingLines(r entry, text string) int {
	n := 0
	for i, line := range strings.Split(r.Message, "\n") {
		if strings.Contains(line, text) || i == 0 && strings.Contains(r.Level, text) {
			n++
		}
	}
	return n
}

// checkDisconnects finds the losses of a peer with their place in the file.
func checkDisconnects(t *testing.T, fsys fs.FS, name string, s *logsearch.Search, want kafkaFile) {
	t.Helper()
	content, err := fs.ReadFile(fsys, name)
	if err != nil || len(content) != want.Bytes {
		t.Fatalf("%s: %d bytes, %v, want %d", name, len(content), err, want.Bytes)
	}
	found := every(t, s, logsearch.Query{Text: "was disconnected before the response was read", Levels: []string{"WARN"}})
	if len(found) != len(want.Disconnects) {
		t.Fatalf("%s: got %d disconnects, want %d", name, len(found), len(want.Disconnects))
	}
	for i, d := range want.Disconnects {
		offset, err := strconv.Atoi(strings.TrimPrefix(found[i].ID, name+"@"))
		if err != nil {
			t.Fatalf("%s: id %q has no offset", name, found[i].ID)
		}
		_, lost, _ := strings.Cut(found[i].Message, "java.io.IOException: Connection to ")
		before := content[:offset+strings.Index(string(content[offset:]), "was disconnected")]
		line := strings.Count(string(before), "\n") + 1
		at, _ := time.Parse(kafkaLayout, d.Time)
		if !found[i].Time.Equal(at) || line != d.Line || !strings.HasPrefix(lost, strconv.Itoa(d.Peer)+" was") {
			t.Errorf("%s: got %v at line %d, %.10q, want %s at line %d, peer %d", name, found[i].Time, line, lost, d.Time, d.Line, d.Peer)
		}
	}
}

// The incident of that evening, over all ten files at once.
func TestKafkaIncident(t *testing.T) {
	t.Parallel()
	s := newSearch(t, logsearch.Config{Sources: filesOf(t, os.DirFS("testdata/kafka-logs"), logsearch.Log4j{}, "kafka?_*.log")})
	q := logsearch.Query{Levels: []string{"WARN", "ERROR"}, From: "2016-12-19T20:00:00Z", To: "2016-12-19T21:00:00Z"}
	p := mustRun(t, s, q)
	if len(p.Records) != 11 || !p.End || len(p.Sources) != 10 {
		t.Errorf("got %d records of %d sources, end %t, want 11 of 10 and the end", len(p.Records), len(p.Sources), p.End)
	}
	q.Text = "OutOfMemory"
	if p := mustRun(t, s, q); len(p.Records) != 0 || !p.End {
		t.Errorf("got %d records, end %t, want none and the end", len(p.Records), p.End)
	}
}
