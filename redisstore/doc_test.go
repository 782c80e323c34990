package redisstore

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of promises in the package comment names tests that there are, and
// every line of it names one or says that there is none.
func TestDoc_table_names_tests_that_exist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	there := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				there[f.Name.Name] = true
			}
		}
	}
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "// # What is promised where")
	table, _, _ = strings.Cut(table, "// # Acknowledgements")
	named := regexp.MustCompile(`Test\w+`).FindAllString(table, -1)
	for _, name := range named {
		if !there[name] {
			t.Errorf("the table names %s, which is no test of this package", name)
		}
	}
	promises := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "//\t  ") || strings.HasPrefix(line, "//\t    ") { // headings, and lines that go on
			continue
		}
		promises++
		if !strings.Contains(line, "Test") && !strings.Contains(line, "not tested") {
			t.Errorf("a line without a test: %s", strings.TrimSpace(line))
		}
	}
	if promises < 15 || len(named) < 15 {
		t.Errorf("%d promises and %d tests in the table, want the whole of it", promises, len(named))
	}
}
