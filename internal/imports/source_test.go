package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/toolharness/harness/internal/vectors"
)

// source is one Go file of the repository.
type source struct {
	path string // from the root of the repository, slashes
	file *ast.File
	set  *token.FileSet
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) line(p token.Pos) int { return s.set.Position(p).Line }

func (s source) at(n ast.Node) string { return fmt.Sprintf("%s:%d", s.path, s.line(n.Pos())) }

// sources parses every Go file below the root, nested modules too, without
// testdata and folders that the go command skips. Reading the files here also
// tells the test cache what these tests depend on; what the go command reads on
// their behalf it would not notice.
func sources(fsys fs.FS) ([]source, error) {
	var out []source
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && skippedFolder(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, source{path: name, file: file, set: set})
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no Go file")
	}
	return out, err
}

func skippedFolder(name string) bool {
	return name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// repository returns the sources of the real tree.
func repository(t *testing.T) []source {
	t.Helper()
	all, err := sources(os.DirFS(vectors.Root(t)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}
