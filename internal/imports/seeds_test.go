package imports

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toolharness/harness/internal/vectors"
)

// A fuzz target without seeds starts from nothing, and as a plain test it checks
// nothing at all.
func TestFuzz_targets_have_seeds(t *testing.T) {
	t.Parallel()
	root := os.DirFS(vectors.Root(t))
	all, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range seedViolations(all, root) {
		t.Error(v)
	}
}

// seedViolations lists fuzz targets that neither have a committed corpus in
// testdata/fuzz/<name> nor call Add, themselves or in a function of the same
// folder that they hand their *testing.F to.
func seedViolations(all []source, fsys fs.FS) []string {
	functions := map[string]*ast.FuncDecl{} // by folder and name
	for _, s := range all {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil {
				functions[path.Join(path.Dir(s.path), f.Name.Name)] = f
			}
		}
	}
	var out []string
	for _, s := range all {
		dir := path.Dir(s.path)
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.isTest() || f.Recv != nil || !isFuzzTarget(f) {
				continue
			}
			corpus, _ := fs.Glob(fsys, path.Join(dir, "testdata/fuzz", f.Name.Name, "*"))
			if len(corpus) == 0 && !adds(f, 0, dir, functions, nil) {
				out = append(out, fmt.Sprintf("%s: %s has no seeds", s.at(f), f.Name.Name))
			}
		}
	}
	return out
}

func isFuzzTarget(f *ast.FuncDecl) bool {
	return strings.HasPrefix(f.Name.Name, "Fuzz") && f.Type.Params.NumFields() == 1 && paramName(f, 0) != ""
}

// adds reports whether f calls Add on its nth parameter.
func adds(f *ast.FuncDecl, n int, dir string, functions map[string]*ast.FuncDecl, on []*ast.FuncDecl) bool {
	param := paramName(f, n)
	if param == "" || slices.Contains(on, f) {
		return false
	}
	on = append(on, f)
	found := false
	ast.Inspect(f.Body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || found {
			return !found
		}
		switch fun := call.Fun.(type) {
		case *ast.SelectorExpr:
			found = fun.Sel.Name == "Add" && isIdent(fun.X, param)
		case *ast.Ident:
			callee := functions[path.Join(dir, fun.Name)]
			i := slices.IndexFunc(call.Args, func(a ast.Expr) bool { return isIdent(a, param) })
			found = callee != nil && i >= 0 && adds(callee, i, dir, functions, on)
		}
		return !found
	})
	return found
}

// paramName is the name of the nth parameter, or nothing.
func paramName(f *ast.FuncDecl, n int) string {
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if n == 0 {
				return name.Name
			}
			n--
		}
	}
	return ""
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func TestSeed_check_on_bad_targets(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"a/a_test.go": text(`package a
			func FuzzAdds(f *testing.F) { for range 3 { f.Add(1) }; f.Fuzz(nil) }
			func FuzzHanded(f *testing.F) { seed(1, f) }
			func FuzzCorpus(f *testing.F) { f.Fuzz(nil) }
			func FuzzBare(f *testing.F) { f.Fuzz(nil) }
			func FuzzOther(f *testing.F) { g.Add(1) }
			func FuzzRound(f *testing.F) { round(f) }
			func FuzzElsewhere(f *testing.F) { far(f) }
			func FuzzyHelper() {}`),
		"a/seed_test.go":                     text("package a\nfunc seed(n int, f *testing.F) { f.Add(n) }\nfunc round(f *testing.F) { round(f) }"),
		"b/b_test.go":                        text("package b\nfunc far(f *testing.F) { f.Add(1) }"),
		"a/testdata/fuzz/FuzzCorpus/one":     text("go test fuzz v1\nint(1)\n"),
		"b/testdata/fuzz/FuzzBare/elsewhere": text("go test fuzz v1\nint(1)\n"),
	}
	all, err := sources(tree)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a/a_test.go:5: FuzzBare has no seeds",
		"a/a_test.go:6: FuzzOther has no seeds",
		"a/a_test.go:7: FuzzRound has no seeds",
		"a/a_test.go:8: FuzzElsewhere has no seeds",
	}
	if got := seedViolations(all, tree); !slices.Equal(got, want) {
		t.Errorf("violations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
