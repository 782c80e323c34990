package imports

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toolharness/harness/internal/vectors"
)

// Code that a reader copies must be code that a compiler has seen. In README.md
// every Go block follows a line that names its file,
//
//	<!-- code: examples/loop/main.go -->
//
// and equals what stands in that file between the lines "// README:start" and
// "// README:end", or the whole file where there are none. Indentation that all
// lines of the part share does not count.
func TestREADME_code_is_compiled_code(t *testing.T) {
	t.Parallel()
	root := vectors.Root(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, violations := readmeBlocks(string(readme))
	for _, b := range blocks {
		if err := b.compare(os.DirFS(root)); err != nil {
			violations = append(violations, fmt.Sprintf("README.md:%d: %v", b.line, err))
		}
		if err := isBuilt(root, b.file); err != nil {
			violations = append(violations, fmt.Sprintf("README.md:%d: %v", b.line, err))
		}
	}
	if len(blocks) == 0 {
		t.Error("README.md shows no Go code")
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// Other pages that the reader is sent to must be there.
func TestREADME_has_its_companions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", ".ci/run",
		"docs/scenarios.md", "docs/sources.md",
	} {
		if info, err := os.Stat(filepath.Join(vectors.Root(t), name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is missing or empty: %v", name, err)
		}
	}
}

// block is one Go block of a page and the file it was copied from.
type block struct {
	line int // of its fence
	file string
	code string
}

var codeMark = regexp.MustCompile(`^<!-- code: (\S+) -->$`)

// readmeBlocks finds the Go blocks and complains about those that name no file
// and marks that no block follows.
func readmeBlocks(page string) (blocks []block, violations []string) {
	mark, inside := "", (*block)(nil)
	other := false // inside a fence of another language
	for i, line := range strings.Split(page, "\n") {
		line = strings.TrimRight(line, " \r")
		fence := strings.HasPrefix(line, "```")
		switch {
		case inside != nil && line == "```":
			blocks, inside = append(blocks, *inside), nil
		case inside != nil:
			inside.code += line + "\n"
		case other:
			other = !(fence && line == "```")
		case line == "```go" && mark == "":
			violations = append(violations, fmt.Sprintf("README.md:%d: Go code without a line <!-- code: file --> above it", i+1))
			other = true
		case line == "```go":
			inside, mark = &block{line: i + 1, file: mark}, ""
		case line == "":
		default:
			if mark != "" {
				violations = append(violations, fmt.Sprintf("README.md:%d: no Go code follows the mark of %s", i+1, mark))
			}
			mark = ""
			if m := codeMark.FindStringSubmatch(line); m != nil {
				mark = m[1]
			}
			other = fence
		}
	}
	if inside != nil {
		violations = append(violations, fmt.Sprintf("README.md:%d: the block does not end", inside.line))
	}
	return blocks, violations
}

func (b block) compare(fsys fs.FS) error {
	file, err := fs.ReadFile(fsys, path.Clean(b.file))
	if err != nil {
		return err
	}
	want, err := shownPart(string(file))
	if err != nil {
		return fmt.Errorf("%s: %w", b.file, err)
	}
	return differ(dedent(b.code), want, b.file)
}

// differ names the first line in which the two differ.
func differ(got, want, file string) error {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			return fmt.Errorf("ends before line %q of %s", w[i], file)
		case i >= len(w):
			return fmt.Errorf("line %q is not in %s", g[i], file)
		case g[i] != w[i]:
			return fmt.Errorf("line %q, %s has %q", g[i], file, w[i])
		}
	}
	return nil
}

// shownPart cuts the part between the marks out of a file, without the
// indentation that its lines share.
func shownPart(file string) (string, error) {
	const start, end = "// README:start", "// README:end"
	lines := strings.Split(strings.ReplaceAll(file, "\r\n", "\n"), "\n")
	var starts, ends []int
	for i, line := range lines {
		switch strings.TrimSpace(line) {
		case start:
			starts = append(starts, i)
		case end:
			ends = append(ends, i)
		}
	}
	if len(starts) == 0 && len(ends) == 0 {
		return dedent(strings.Join(lines, "\n")), nil
	}
	if len(starts) != 1 || len(ends) != 1 || starts[0] > ends[0] {
		return "", errors.New("want one README:start and one README:end behind it")
	}
	return dedent(strings.Join(lines[starts[0]+1:ends[0]], "\n")), nil
}

// dedent takes away the tabs that all lines share, and blank lines around.
func dedent(code string) string {
	lines := strings.Split(strings.Trim(code, "\n"), "\n")
	shared := -1
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		tabs := len(line) - len(strings.TrimLeft(line, "\t"))
		if shared < 0 || tabs < shared {
			shared = tabs
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[min(max(shared, 0), len(line)):], " \t")
	}
	return strings.Join(lines, "\n")
}

// isBuilt refuses files that no build of the repository would look at.
func isBuilt(root, file string) error {
	for _, element := range strings.Split(path.Dir(file), "/") {
		if element != "." && skippedFolder(element) {
			return fmt.Errorf("%s is in a folder that the go command skips", file)
		}
	}
	dir, name := filepath.Split(filepath.Join(root, filepath.FromSlash(file)))
	match, err := build.Default.MatchFile(dir, name)
	if err == nil && (!match || path.Ext(file) != ".go") {
		err = fmt.Errorf("%s is not built", file)
	}
	return err
}

func TestREADME_check_on_bad_pages(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"whole.go": text("package a\n\nfunc A() {}\n"),
		"part.go":  text("package a\n\nfunc A() {\n\t// README:start\n\tx := 1\n\tif x > 0 {\n\n\t\tuse(x)\n\t}\n\t// README:end\n}\n"),
		"open.go":  text("package a\n// README:start\n"),
		"twice.go": text("package a\n// README:start\n// README:end\n// README:start\n// README:end\n"),
		"turn.go":  text("package a\n// README:end\n// README:start\n"),
	}
	const fence = "```"
	page := func(file, code string) string {
		return "# Title\n\n<!-- code: " + file + " -->\n" + fence + "go\n" + code + fence + "\n\nmore\n"
	}
	for name, c := range map[string]struct {
		page string
		want string // part of the complaint; empty: fine
	}{
		"whole file":        {page("whole.go", "package a\n\nfunc A() {}\n"), ""},
		"part of a file":    {page("part.go", "x := 1\nif x > 0 {\n\n\tuse(x)\n}\n"), ""},
		"part, indented":    {page("part.go", "\tx := 1\n\tif x > 0 {\n\n\t\tuse(x)\n\t}\n"), ""},
		"other language":    {fence + "sh\nmake test\n" + fence + "\n", ""},
		"fence in a fence":  {fence + "text\n" + fence + "go\n" + fence + "\n", ""},
		"another line":      {page("whole.go", "package a\n\nfunc B() {}\n"), `line "func B() {}", whole.go has "func A() {}"`},
		"a line less":       {page("part.go", "x := 1\n"), `ends before line "if x > 0 {"`},
		"a line more":       {page("whole.go", "package a\n\nfunc A() {}\nfunc B() {}\n"), `line "func B() {}" is not in whole.go`},
		"inner indentation": {page("part.go", "x := 1\nif x > 0 {\n\nuse(x)\n}\n"), `line "use(x)"`},
		"missing file":      {page("none.go", "package a\n"), "none.go"},
		"no end mark":       {page("open.go", "package a\n"), "want one README:start"},
		"two parts":         {page("twice.go", "package a\n"), "want one README:start"},
		"marks reversed":    {page("turn.go", "package a\n"), "want one README:start"},
		"no mark":           {fence + "go\npackage a\n" + fence + "\n", "README.md:1: Go code without"},
		"mark too far":      {"<!-- code: whole.go -->\nsome words\n" + fence + "go\npackage a\n" + fence + "\n", "README.md:2: no Go code follows"},
		"no end of block":   {"<!-- code: whole.go -->\n" + fence + "go\npackage a\n", "does not end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, violations := readmeBlocks(c.page)
			for _, b := range blocks {
				if err := b.compare(tree); err != nil {
					violations = append(violations, err.Error())
				}
			}
			if c.want == "" && len(violations) > 0 {
				t.Errorf("violations %q, want none", violations)
			}
			if c.want != "" && !slices.ContainsFunc(violations, func(v string) bool { return strings.Contains(v, c.want) }) {
				t.Errorf("violations %q, want one with %q", violations, c.want)
			}
		})
	}
}

func TestREADME_files_must_be_built(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"a/good.go":         "package a\n",
		"a/ignored.go":      "//go:build ignore\n\npackage a\n",
		"a/notes.txt":       "words\n",
		"a/testdata/far.go": "package a\n",
		"_a/skipped.go":     "package a\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := isBuilt(root, name); (err == nil) != (name == "a/good.go") {
			t.Errorf("isBuilt(%s) = %v", name, err)
		}
	}
}
