package retrieval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/retrieval"
)

func TestExport(t *testing.T) {
	onStores(t, backends(), []scenario{
		{"a_run_is_one_file_that_verifies_offline", exportsRun},
		{"what_cannot_be_read_ends_the_export", exportRefuses},
		{"what_was_redacted_before_it_was_stored_says_so", exportRedacted},
	})
}

// eventful is a run with one of everything.
func eventful(t *testing.T, d *deck) *bench {
	t.Helper()
	b := newBench(t, d)
	b.kept(b.run, "text", hard())
	b.calls(b.run, tried{id: "binary", raw: []byte{0, 0xff, 0xfe, '\n', '"'}})
	b.kept(b.run, "empty", "")
	b.calls(b.run, tried{id: "failed", fails: errors.New("no")})
	b.calls(b.run, tried{id: "unclear", raw: []byte("null"), unclear: true})
	b.calls(b.run, tried{id: "write", effect: canonical.EffectWrite, fails: errors.New("unclear")})
	if err := d.Resolve(t.Context(), canonical.Resolution{Run: b.run.Key(), Call: named("write"), Verdict: canonical.Applied, Evidence: "ticket é"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), b.kept(b.run, "gone", "x")); err != nil {
		t.Fatal(err)
	}
	return b
}

func export(t *testing.T, r *retrieval.Reader, run canonical.RunID) ([]byte, retrieval.Manifest) {
	t.Helper()
	var file bytes.Buffer
	m, err := r.Export(t.Context(), &file, run)
	if err != nil {
		t.Fatalf("Export: %v", err)
	}
	return file.Bytes(), m
}

func exportsRun(t *testing.T, d *deck) {
	b := eventful(t, d)
	admitOnly(t, d, b.run.Key(), "open")
	file, made := export(t, b.Reader, "run-1")
	if made.Complete || made.Calls != 8 || made.Gone != 1 || made.Settlements != 1 || made.Bytes != int64(len(file)) {
		t.Errorf("made %+v of %d bytes", made, len(file))
	}
	found, err := retrieval.Verify(bytes.NewReader(file))
	if err != nil || found != made {
		t.Errorf("verified %+v, %v, made %+v", found, err, made)
	}
	if lines := bytes.Count(file, []byte("\n")); lines != 1+8+1+2 || !bytes.HasSuffix(file, []byte("\n")) {
		t.Errorf("%d lines", lines)
	}
	for _, part := range []string{`"tenant":"acme"`, `"user":"eve"`, `"base64":"AP/+CiI="`, `"text":"null"`, `ticket é`, `"gone":true`, `"state":"PROJECTING"`} {
		if !bytes.Contains(file, []byte(part)) {
			t.Errorf("the file has no %s", part)
		}
	}
	if err := b.run.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, made := export(t, b.Reader, "run-1")
	if made.Complete {
		t.Error("complete, with an open call")
	}
	if _, err := retrieval.Verify(bytes.NewReader(again)); err != nil {
		t.Errorf("closed: %v", err)
	}
	quiet := b.open("run-2", testScope())
	b.kept(quiet, "c1", "x")
	if err := quiet.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, made := export(t, b.Reader, "run-2"); !made.Complete || made.Calls != 1 {
		t.Errorf("a closed run without open calls: %+v", made)
	}
	_, err = b.Export(t.Context(), &bytes.Buffer{}, "run-3")
	want(t, "a run that is not there", err, retrieval.ErrMissing)
	_, err = mustIn(t, b.Reader, canonical.Scope{Owner: "x"}).Export(t.Context(), &bytes.Buffer{}, "run-1")
	want(t, "another scope's run", err, retrieval.ErrMissing)
}

func exportRefuses(t *testing.T, d *deck) {
	b := newBench(t, d)
	b.kept(b.run, "c1", "x")
	b.kept(b.run, "c2", strings.Repeat("y", 3000))
	small := reader(t, retrieval.Config{Store: d.Store, RawBytes: 2000})
	var file bytes.Buffer
	_, err := small.Export(t.Context(), &file, "run-1")
	if e := want(t, "too large", err, retrieval.ErrTooLarge); e.Field != "call :c2" {
		t.Errorf("field %q", e.Field)
	}
	_, err = retrieval.Verify(&file)
	wantLine(t, "what was written of it", err, 3, "")
	_, err = b.Export(t.Context(), failing{}, "run-1")
	if want(t, "a writer that fails", err, retrieval.ErrUnavailable); !errors.Is(err, errFull) {
		t.Errorf("%v hides the writer's error", err)
	}
}

// exportRedacted: where credentials are redacted before anything is stored, the
// request is not the one that the operation key was made of.
func exportRedacted(t *testing.T, d *deck) {
	redactor, err := redact.New(redact.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, d)
	before, err := boundary.New(boundary.Config{Store: d.Store, Authorizer: boundary.AllowAll{}, Now: d.now, RedactBeforeStore: redactor})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = before.Shutdown(context.Background()) })
	run, err := before.OpenRun(t.Context(), runSpec("run-7", testScope()))
	if err != nil {
		t.Fatal(err)
	}
	got := before.Invoke(t.Context(), run, boundary.Envelope{
		RunID: "run-7", ToolCallID: "c1", Tool: "search", Input: []byte(`{"password":"hunter2"}`), Authorized: true, ReadOnly: true,
	}, boundary.Action{
		Executor: boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
			_, err := raw.Write(in.Arguments)
			return err
		}),
		Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: []byte("one"), Status: evidence.Found}, nil
		}),
	})
	ref, ok := got.Outcome.Reference()
	if !ok {
		t.Fatal(got.Err)
	}
	const stored = `{"password":"[REDACTED]"}`
	record, err := b.Record(t.Context(), ref)
	if err != nil || string(record.Raw.Bytes) != stored || string(record.Request) != stored || record.Redacted != redactor.Fingerprint() {
		t.Errorf("record %q %q by %q, %v", []byte(record.Raw.Bytes), []byte(record.Request), record.Redacted, err)
	}
	page, err := b.List(t.Context(), retrieval.Filter{Run: "run-7"}, "", 0)
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Redacted != redactor.Fingerprint() {
		t.Errorf("listed %+v, %v", page.Entries, err)
	}
	if got := readAll(t, b.Reader, ref, 7); got != stored {
		t.Errorf("view %s", got)
	}
	file, _ := export(t, b.Reader, "run-7")
	if _, err := retrieval.Verify(bytes.NewReader(file)); err != nil || bytes.Contains(file, []byte("hunter2")) || !bytes.Contains(file, []byte(`"redacted":"`+redactor.Fingerprint())) {
		t.Errorf("verified: %v, %d bytes", err, len(file))
	}
}

var errFull = errors.New("no space left")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// wantLine fails unless err names that line, and that record where one is given.
func wantLine(t *testing.T, what string, err error, line int, record string) {
	t.Helper()
	var at *retrieval.FileError
	if !errors.As(err, &at) || !errors.Is(err, retrieval.ErrExport) {
		t.Errorf("%s: %v, want a *FileError", what, err)
		return
	}
	if at.Line != line || record != "" && at.Record != record {
		t.Errorf("%s: %v, want line %d %s", what, err, line, record)
	}
}

// small is an export of few bytes with every kind of line in it.
func small(t *testing.T) []byte {
	t.Helper()
	d := fakeDeck(t)
	b := newBench(t, d)
	b.kept(b.run, "c1", "é\n")
	b.calls(b.run, tried{id: "w1", effect: canonical.EffectWrite, fails: errors.New("unclear")})
	if err := d.Resolve(t.Context(), canonical.Resolution{Run: b.run.Key(), Call: named("w1"), Verdict: canonical.Applied, Evidence: "t"}); err != nil {
		t.Fatal(err)
	}
	file, _ := export(t, b.Reader, "run-1")
	return file
}

// One flipped bit of each byte, and each byte taken out or doubled, is found, and
// the line that is named is the one it is in.
func TestVerify_every_byte_counts(t *testing.T) {
	t.Parallel()
	file := small(t)
	names := []string{"run", "call :c1", "call :w1", "settlement :w1", "manifest", "end"}
	line := 0
	for at, b := range file {
		for _, flip := range []byte{1 << (at % 8), 0x20} {
			altered := bytes.Clone(file)
			altered[at] ^= flip
			_, err := retrieval.Verify(bytes.NewReader(altered))
			wantNear(t, fmt.Sprintf("byte %d flipped by %#x", at, flip), err, line+1, names[line])
		}
		if b != '\n' && at%3 != 0 { // flips are for every byte, these are slow and alike
			continue
		}
		_, err := retrieval.Verify(bytes.NewReader(append(bytes.Clone(file[:at]), file[at+1:]...)))
		wantNear(t, fmt.Sprintf("byte %d taken out", at), err, line+1, names[line])
		_, err = retrieval.Verify(bytes.NewReader(append(append(bytes.Clone(file[:at]), b), file[at:]...)))
		if b == '\n' { // an empty line stands in the place of the next
			line++
		}
		wantNear(t, fmt.Sprintf("byte %d doubled", at), err, line+1, append(names, "")[line])
	}
	if _, err := retrieval.Verify(bytes.NewReader(file)); err != nil || line != len(names) {
		t.Errorf("the file itself: %v, %d lines", err, line)
	}
}

// wantNear is wantLine for damage that a record may be too broken to be named.
func wantNear(t *testing.T, what string, err error, line int, record string) {
	t.Helper()
	var at *retrieval.FileError
	switch {
	case !errors.As(err, &at):
		t.Fatalf("%s: %v, want a *FileError", what, err)
	case at.Line != line:
		t.Errorf("%s: %v, want line %d", what, err, line)
	case at.Record != record && at.Record != "":
		t.Errorf("%s: %v, want %q", what, err, record)
	}
}

func TestVerify_first_record_that_does_not_fit(t *testing.T) {
	t.Parallel()
	file := small(t)
	lines := bytes.SplitAfter(file, []byte("\n"))
	lines = lines[:len(lines)-1]
	join := func(order ...int) []byte {
		var out []byte
		for _, i := range order {
			out = append(out, lines[i]...)
		}
		return out
	}
	swap := func(line int, old, new string) []byte {
		out := bytes.Clone(file)
		at := bytes.Index(out, lines[line])
		if !bytes.Contains(lines[line], []byte(old)) {
			t.Fatalf("line %d has no %s", line, old)
		}
		return append(append(out[:at:at], bytes.Replace(lines[line], []byte(old), []byte(new), 1)...), file[at+len(lines[line]):]...)
	}
	both := bytes.Replace(swap(3, `"evidence":"t"`, `"evidence":"u"`), []byte(`"tool":"search"`), []byte(`"tool":"sezrch"`), 1)
	for what, row := range map[string]struct {
		file   []byte
		line   int
		record string
	}{
		"an altered body":          {swap(1, `é`, `è`), 2, "call :c1"},
		"an altered tool":          {swap(1, `"tool":"search"`, `"tool":"sezrch"`), 2, "call :c1"},
		"two altered records":      {both, 2, "call :c1"},
		"a record left out":        {join(0, 1, 4, 5), 3, ""},
		"the first left out":       {join(0, 2, 3, 4, 5), 2, ""},
		"two records exchanged":    {join(0, 2, 1, 3, 4, 5), 2, ""},
		"a record twice":           {join(0, 1, 1, 2, 3, 4, 5), 3, ""},
		"a settlement elsewhere":   {join(0, 1, 3, 2, 4, 5), 3, ""},
		"no run":                   {join(1, 2, 3, 4, 5), 1, ""},
		"no manifest":              {join(0, 1, 2, 3, 5), 5, ""},
		"no end":                   {join(0, 1, 2, 3, 4), 6, ""},
		"cut in the middle":        {file[:len(file)/3], 2, ""},
		"nothing":                  {nil, 1, ""},
		"more behind it":           {append(bytes.Clone(file), "{}\n"...), 7, ""},
		"two files":                {append(bytes.Clone(file), file...), 7, ""},
		"a text that is no export": {[]byte("hello\n"), 1, ""},
	} {
		_, err := retrieval.Verify(bytes.NewReader(row.file))
		wantLine(t, what, err, row.line, row.record)
	}
	want(t, "a reader that fails", verifyErr(broken{}), retrieval.ErrUnavailable)
}

func verifyErr(r broken) error { _, err := retrieval.Verify(r); return err }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errFull }

// A forged file whose digests are right is still checked for what it says.
func TestVerify_contradictions_under_right_digests(t *testing.T) {
	t.Parallel()
	file := string(small(t))
	if _, err := retrieval.Verify(strings.NewReader(reseal(t, file))); err != nil {
		t.Fatalf("resealed as it was: %v", err)
	}
	for what, change := range map[string][2]string{
		"the raw result does not match": {`"text":"é\n"`, `"text":"è\n"`},
		"the reference is not that":     {`"reference":{"version":1,"evidence_id":"`, `"reference":{"version":1,"evidence_id":"0`},
		"the operation key is not":      {`"operation_key":"`, `"operation_key":"0`},
		"the verdict is not possible":   {`"state":"READY"`, `"state":"ERROR"`},
		"out of order":                  {`"seq":1`, `"seq":2`},
		"calls are missing":             {`"calls":2`, `"calls":3`},
		"of another format":             {retrieval.ExportFormat, "harness.run-export/2"},
	} {
		if !strings.Contains(file, change[0]) {
			t.Fatalf("the file has no %s", change[0])
		}
		_, err := retrieval.Verify(strings.NewReader(reseal(t, strings.Replace(file, change[0], change[1], 1))))
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
}

// reseal writes manifest and end of a changed file anew.
func reseal(t *testing.T, file string) string {
	t.Helper()
	lines := strings.SplitAfter(strings.TrimSuffix(file, "\n"), "\n")
	var items []string
	var out strings.Builder
	for i, name := range []string{"run", "call :c1", "call :w1", "settlement :w1"} {
		items = append(items, fmt.Sprintf(`{"name":%q,"sha256":%q}`, name, canonical.Body(lines[i]).SHA256()))
		out.WriteString(lines[i])
	}
	manifest := `{"type":"manifest","lines":[` + strings.Join(items, ",") + "]}\n"
	out.WriteString(manifest)
	end := fmt.Sprintf(`{"type":"end","manifest_sha256":%q,"file_sha256":%q}`+"\n",
		canonical.Body(manifest).SHA256(), canonical.Body(out.String()).SHA256())
	return out.String() + end
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("{\"type\":\"run\"}\n"))
	f.Add([]byte(`{"type":"end","manifest_sha256":"","file_sha256":""}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if m, err := retrieval.Verify(bytes.NewReader(file)); err == nil && m.Bytes != int64(len(file)) {
			t.Errorf("verified %d of %d bytes", m.Bytes, len(file))
		}
	})
}
