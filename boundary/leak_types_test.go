package boundary_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
)

// agentFacing are the types whose values a loop hands to a model, with every
// exported field and method. A name more or less is a decision, not a detail.
var agentFacing = map[reflect.Type][]string{
	reflect.TypeFor[boundary.Outcome](): {
		"Code()", "Evidence()", "Execution()", "Format()", "IsError()", "MarshalJSON()", "Reference()", "Text()",
	},
	reflect.TypeFor[boundary.Definition](): {"Description", "Name", "Schema"},
}

func TestLeak_types(t *testing.T) {
	t.Parallel()
	for of, want := range agentFacing {
		t.Run("T61_"+of.Name(), func(t *testing.T) {
			t.Parallel()
			if got := surface(of); !slices.Equal(got, want) {
				t.Errorf("fields and methods %v, want %v", got, want)
			}
			for _, path := range unsafePaths(of, of.Name(), nil) {
				t.Errorf("leads to more than words, numbers and digests: %s", path)
			}
		})
	}
}

// surface lists exported fields and the methods of a pointer to a type.
func surface(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		if f := of.Field(i); f.IsExported() {
			names = append(names, f.Name)
		}
	}
	for pointer, i := reflect.PointerTo(of), 0; i < pointer.NumMethod(); i++ {
		names = append(names, pointer.Method(i).Name+"()")
	}
	slices.Sort(names)
	return names
}

// hostSchema is the one place with bytes: the schema that the host wrote.
var hostSchema = []string{"Definition.Schema", "Outcome.MarshalJSON()"}

// unsafePaths walks exported fields and results of methods, and lists what is
// neither a word, a number, nor made of such.
func unsafePaths(of reflect.Type, path string, on []reflect.Type) []string {
	if slices.Contains(on, of) || slices.Contains(hostSchema, path) || of == reflect.TypeFor[error]() {
		return nil
	}
	on = append(on, of)
	var bad []string
	for i := range of.NumMethod() {
		m := of.Method(i)
		for j := range m.Type.NumOut() {
			bad = append(bad, unsafePaths(m.Type.Out(j), path+"."+m.Name+"()", on)...)
		}
	}
	switch of.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64:
	case reflect.Struct:
		for i := range of.NumField() {
			if f := of.Field(i); f.IsExported() {
				bad = append(bad, unsafePaths(f.Type, path+"."+f.Name, on)...)
			}
		}
	case reflect.Slice:
		if of.Elem().Kind() != reflect.Uint8 {
			return append(bad, unsafePaths(of.Elem(), path+"[]", on)...)
		}
		bad = append(bad, path+" "+of.String())
	default: // interfaces, pointers, maps, functions: any of them can lead to raw or to a client
		bad = append(bad, path+" "+of.String())
	}
	return bad
}

// The walk must find what it is there for.
func TestUnsafePaths_finds_host_types(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[boundary.Retained](), "x.Raw.Bytes canonical.Body"},
		{reflect.TypeFor[boundary.Envelope](), "x.Input []uint8"},
		{reflect.TypeFor[boundary.AuthorizationRequest](), "x.Arguments canonical.Body"},
		{reflect.TypeFor[boundary.Config](), "x.Store canonical.Store"},
	} {
		if got := unsafePaths(c.of, "x", nil); !slices.Contains(got, c.want) {
			t.Errorf("%s: %v, want %s among them", c.of, got, c.want)
		}
	}
}

func TestLeak_dependencies(t *testing.T) {
	t.Parallel()
	t.Run("T62_no_redis_behind_the_boundary", func(t *testing.T) {
		t.Parallel()
		command := exec.Command("go", "list", "-deps", vectors.Module+"/boundary")
		command.Dir = vectors.Root(t)
		out, err := command.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		deps := strings.Fields(string(out))
		if !slices.Contains(deps, vectors.Module+"/canonical") {
			t.Fatalf("%d packages without canonical: not a list of what stands behind boundary", len(deps))
		}
		for _, dep := range deps {
			if strings.Contains(dep, "redis") || strings.Contains(dep, "gopher-lua") {
				t.Errorf("boundary depends on %s", dep)
			}
		}
	})
}

// A reserved code has no row above; so nothing may report it. The part that does
// so first fails here, and moves the code from reserved to the rows.
func TestReserved_codes_are_not_reported_anywhere(t *testing.T) {
	t.Parallel()
	root := vectors.Root(t)
	names := map[string]lifecycle.Code{"Suspended": lifecycle.Suspended}
	if len(names) != len(reserved) {
		t.Fatalf("%d names for %d reserved codes", len(names), len(reserved))
	}
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || path != root && strings.HasPrefix(name, ".") || path == filepath.Join(root, "lifecycle")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files++
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range reservedUses(t, source, names) {
			t.Errorf("%s: %s", path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("%d files looked at, want the whole module", files)
	}
}

// reservedUses finds lifecycle.<Name> and the code's own text in a source.
func reservedUses(t *testing.T, source []byte, names map[string]lifecycle.Code) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "lifecycle" && names[n.Sel.Name] != "" {
				found = append(found, "lifecycle."+n.Sel.Name)
			}
		case *ast.BasicLit:
			for _, code := range names {
				if n.Value == `"`+string(code)+`"` {
					found = append(found, n.Value)
				}
			}
		}
		return true
	})
	return found
}

func TestReservedUses_finds_them(t *testing.T) {
	t.Parallel()
	source := []byte("package a\nvar x = lifecycle.Suspended\nvar y = lifecycle.Code(\"REFERENCE_REFUSED\")\nvar z = lifecycle.Cancelled\n")
	got := reservedUses(t, source, map[string]lifecycle.Code{"Suspended": lifecycle.Suspended, "ReferenceRefused": lifecycle.ReferenceRefused})
	if want := []string{"lifecycle.Suspended", `"REFERENCE_REFUSED"`}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
