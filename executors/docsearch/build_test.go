package docsearch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2"

	"github.com/toolharness/harness/executors/docsearch"
)

func TestDocumentsThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	good := docsearch.Document{ID: "a", Title: "t", Text: "x"}
	for name, c := range map[string]struct {
		change func(*docsearch.Document)
		field  string
	}{
		"no_id":            {func(d *docsearch.Document) { d.ID = "" }, "ID"},
		"blank_id":         {func(d *docsearch.Document) { d.ID = " a" }, "ID"},
		"control_in_id":    {func(d *docsearch.Document) { d.ID = "a\nb" }, "ID"},
		"long_id":          {func(d *docsearch.Document) { d.ID = strings.Repeat("a", 257) }, "ID"},
		"id_twice":         {func(d *docsearch.Document) { d.ID = "first" }, "ID"},
		"long_title":       {func(d *docsearch.Document) { d.Title = strings.Repeat("a", 1025) }, "Title"},
		"title_no_utf8":    {func(d *docsearch.Document) { d.Title = "\xff" }, "Title"},
		"no_text":          {func(d *docsearch.Document) { d.Text = "" }, "Text"},
		"blank_text":       {func(d *docsearch.Document) { d.Text = " \n\u3000" }, "Text"},
		"text_no_utf8":     {func(d *docsearch.Document) { d.Text = "secret \xff" }, "Text"},
		"long_text":        {func(d *docsearch.Document) { d.Text = strings.Repeat("a", 1<<20+1) }, "Text"},
		"negative_place":   {func(d *docsearch.Document) { d.Of, d.Position = "b", -1 }, "Position"},
		"place_of_nothing": {func(d *docsearch.Document) { d.Position = 1 }, "Position"},
		"unknown_field":    {func(d *docsearch.Document) { d.Fields = map[string]string{"colour": "red"} }, "Fields"},
		"empty_field":      {func(d *docsearch.Document) { d.Fields = map[string]string{"lang": ""} }, "Fields.lang"},
		"long_field":       {func(d *docsearch.Document) { d.Fields = map[string]string{"lang": strings.Repeat("a", 257)} }, "Fields.lang"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := good
			c.change(&d)
			path := filepath.Join(t.TempDir(), "index")
			_, err := docsearch.Build(t.Context(), docsearch.Config{Name: "kb", Path: path, Fields: []string{"lang"}}, docsearch.Of(docsearch.Document{ID: "first", Text: "x"}, d))
			refused, ok := errors.AsType[*docsearch.DocumentError](err)
			if !ok || refused.Number != 2 || refused.Field != c.field || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want the second document's %s and nothing of it", err, c.field)
			}
			if _, err := os.Lstat(path); !os.IsNotExist(err) {
				t.Errorf("the folder that was begun is still there: %v", err)
			}
		})
	}
}

func TestEdgesOfADocument(t *testing.T) {
	t.Parallel()
	edge := docsearch.Document{
		ID: strings.Repeat("错", 85), Of: strings.Repeat("b", 256), Title: strings.Repeat("t ", 512),
		Text: strings.Repeat("ab ", (1<<20)/3), Fields: map[string]string{"lang": strings.Repeat("l", 256)},
	}
	index := build(t, docsearch.Config{Fields: []string{"lang"}}, edge)
	h := mustRun(t, index, docsearch.Query{Query: "ab", Filters: edge.Fields}).Hits
	if len(h) != 1 || h[0].ID != edge.ID || h[0].Document != edge.Of || h[0].Title != edge.Title || h[0].Position != 0 {
		t.Errorf("got %d hits, want the document as it was given", len(h))
	}
}

func TestSequenceThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("the source is gone")
	var sequence iter.Seq2[docsearch.Document, error] = func(yield func(docsearch.Document, error) bool) {
		_ = yield(docsearch.Document{ID: "a", Text: "x"}, nil) && yield(docsearch.Document{}, broken)
	}
	path := filepath.Join(t.TempDir(), "index")
	_, err := docsearch.Build(t.Context(), docsearch.Config{Name: "kb", Path: path}, sequence)
	refused, ok := errors.AsType[*docsearch.DocumentError](err)
	if !ok || refused.Number != 2 || !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the second place", err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("half an index is left: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := docsearch.Build(ctx, docsearch.Config{Name: "kb"}, docsearch.Of(bank()[4])); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if _, err := docsearch.Build(t.Context(), docsearch.Config{Name: "kb"}, nil); err == nil {
		t.Error("no sequence: got no error")
	}
}

func TestEmptyIndex(t *testing.T) {
	t.Parallel()
	index := build(t, docsearch.Config{})
	if p := mustRun(t, index, docsearch.Query{Query: "anything"}); len(p.Hits) != 0 || p.Status != "no_results" || index.Count() != 0 {
		t.Errorf("got %+v, want nothing in nothing", p)
	}
}

func TestOnDisk(t *testing.T) {
	t.Parallel()
	c := bankConfig()
	c.Path = filepath.Join(t.TempDir(), "index")
	first := build(t, c, bank()...)
	want := mustRun(t, first, docsearch.Query{Query: "annual fee 年费"})
	for range 2 { // one reader beside the other, and beside the builder
		again, err := docsearch.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		closeAtEnd(t, again)
		if got := mustRun(t, again, docsearch.Query{Query: "annual fee 年费"}); fmt.Sprint(got) != fmt.Sprint(want) || again.Count() != 5 {
			t.Errorf("opened again: got %+v, want %+v", got, want)
		}
	}
	memory := bankConfig()
	if got := mustRun(t, build(t, memory, bank()...), docsearch.Query{Query: "annual fee 年费"}); got.ids() != want.ids() {
		t.Errorf("in memory: got %s, want %s as on disk", got.ids(), want.ids())
	}
	if _, err := docsearch.Build(t.Context(), c, docsearch.Of(bank()...)); err == nil {
		t.Error("built over an index that is there")
	}
}

// snapshot is what a folder holds, by name and content.
func snapshot(t *testing.T, folder string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&out, "%s %d %x\n", entry.Name(), len(content), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSearchingWritesNothing(t *testing.T) {
	t.Parallel()
	c := bankConfig()
	c.Path = filepath.Join(t.TempDir(), "index")
	built, err := docsearch.Build(t.Context(), c, docsearch.Of(bank()...))
	if err != nil {
		t.Fatal(err)
	}
	if err := built.Close(); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, c.Path)
	opened, err := docsearch.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, opened, docsearch.Query{Query: "fee"})
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	if snapshot(t, c.Path) != before {
		t.Error("the folder changed by being searched")
	}
}

// An index that is not whole, or not of this package, is not opened.
func TestFoldersThatAreNotOpened(t *testing.T) {
	t.Parallel()
	foreign := func(t *testing.T, path string) { // an index of bleve that nobody marked
		t.Helper()
		index, err := bleve.New(path, bleve.NewIndexMapping())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(index.Index("a", map[string]string{"text": "x"}), index.Close()); err != nil {
			t.Fatal(err)
		}
	}
	ours := func(t *testing.T, path string) {
		t.Helper()
		index, err := docsearch.Build(t.Context(), docsearch.Config{Name: "kb", Path: path, Fields: []string{"lang"}}, docsearch.Of(bank()[4]))
		if err != nil {
			t.Fatal(err)
		}
		if err := index.Close(); err != nil {
			t.Fatal(err)
		}
	}
	added := func(t *testing.T, path string) { // somebody wrote to it behind its mark
		t.Helper()
		ours(t, path)
		index, err := bleve.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(index.Index("b", map[string]string{"text": "x"}), index.Close()); err != nil {
			t.Fatal(err)
		}
	}
	marked := func(content string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			ours(t, path)
			index, err := bleve.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(index.SetInternal([]byte("docsearch"), []byte(content)), index.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		make   func(*testing.T, string)
		fields []string
		whole  bool // it is opened
	}{
		"ours":          {ours, []string{"lang"}, true},
		"fewer_fields":  {ours, nil, true},
		"other_field":   {ours, []string{"product"}, false},
		"foreign":       {foreign, nil, false},
		"written_to":    {added, nil, false},
		"other_form":    {marked(`{"format":"docsearch/2","documents":1}`), nil, false},
		"fewer_counted": {marked(`{"format":"docsearch/1","documents":0}`), nil, false},
		"no_mark":       {marked(`prose`), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "index")
			c.make(t, path)
			index, err := docsearch.Open(docsearch.Config{Name: "kb", Path: path, Fields: c.fields})
			if c.whole {
				if err != nil {
					t.Fatal(err)
				}
				closeAtEnd(t, index)
				return
			}
			if !errors.Is(err, docsearch.ErrNotAnIndex) {
				t.Errorf("got %v, want %v", err, docsearch.ErrNotAnIndex)
			}
		})
	}
	empty := t.TempDir()
	for _, path := range []string{empty, filepath.Join(empty, "nothing")} {
		if _, err := docsearch.Open(docsearch.Config{Name: "kb", Path: path}); err == nil {
			t.Errorf("%s: opened", path)
		}
	}
}

func TestConfigIsCheckedWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config docsearch.Config
		want   []string
	}{
		"nothing": {docsearch.Config{}, []string{"Name"}},
		"names":   {docsearch.Config{Name: "a\nb", Version: strings.Repeat("v", 65), Fields: []string{"Lang", "a.b", "", "x", "x"}}, []string{"Name", "Version", "Fields[0]", "Fields[1]", "Fields[2]", "Fields[4]"}},
		"fields":  {docsearch.Config{Name: "kb", Fields: strings.Fields("a b c d e f g h i j k l m n o p q")}, []string{"Fields: 17"}},
		"limits": {docsearch.Config{Name: "kb", Limits: docsearch.Limits{TopK: -1, MaxTopK: -2, SnippetBytes: 63, MaxContentBytes: -1, MaxBytes: 100, MaxQueryBytes: -1}},
			[]string{"TopK", "MaxTopK", "SnippetBytes", "MaxContentBytes", "MaxBytes", "MaxQueryBytes"}},
		"no_room": {docsearch.Config{Name: "kb", Limits: docsearch.Limits{MaxContentBytes: 64 << 10}}, []string{"MaxBytes: 262144"}},
	} {
		_, err := docsearch.Build(t.Context(), c.config, docsearch.Of())
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want it to name %s", name, err, want)
			}
		}
		if err == nil || strings.Count(err.Error(), "\n") != len(c.want)-1 {
			t.Errorf("%s: got %v, want %d problems", name, err, len(c.want))
		}
	}
	if _, err := docsearch.Open(docsearch.Config{Name: "kb"}); err == nil {
		t.Error("opened without a path")
	}
	if _, err := docsearch.Open(docsearch.Config{}); err == nil {
		t.Error("opened without a name")
	}
}
