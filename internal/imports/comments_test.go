package imports

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestComments_of_packages_and_exported_names(t *testing.T) {
	t.Parallel()
	all := repository(t)
	for _, v := range append(packageCommentViolations(all), nameCommentViolations(all)...) {
		t.Error(v)
	}
}

// packageCommentViolations lists packages without a comment in doc.go. A program
// may have it in any file, and a package of a single file in that one.
func packageCommentViolations(all []source) []string {
	files := map[string][]source{}
	for _, s := range all {
		if !s.isTest() {
			dir := path.Dir(s.path)
			files[dir] = append(files[dir], s)
		}
	}
	var out []string
	for dir, own := range files {
		name := own[0].file.Name.Name
		if !slices.ContainsFunc(own, func(s source) bool {
			place := name == "main" || len(own) == 1 || path.Base(s.path) == "doc.go"
			return place && strings.TrimSpace(s.file.Doc.Text()) != ""
		}) {
			out = append(out, fmt.Sprintf("%s: package %s has no package comment in doc.go", dir, name))
		}
	}
	slices.Sort(out)
	return out
}

// nameCommentViolations lists exported types, functions, methods, constants and
// variables without a comment.
func nameCommentViolations(all []source) []string {
	var out []string
	for _, s := range all {
		if s.isTest() {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if bareFunc(d) {
					out = append(out, fmt.Sprintf("%s: %s has no comment", s.at(d), d.Name.Name))
				}
			case *ast.GenDecl:
				for _, name := range bareNames(d) {
					out = append(out, fmt.Sprintf("%s: %s has no comment", s.at(name), name.Name))
				}
			}
		}
	}
	return out
}

func bareFunc(d *ast.FuncDecl) bool {
	if !d.Name.IsExported() || d.Doc.Text() != "" {
		return false
	}
	return d.Recv == nil || receiverExported(d.Recv.List[0].Type)
}

// receiverExported looks through pointers and type parameters.
func receiverExported(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverExported(t.X)
	case *ast.IndexExpr:
		return receiverExported(t.X)
	case *ast.IndexListExpr:
		return receiverExported(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return true
}

// bareNames returns exported names of a declaration that nothing explains. A
// comment on a group of constants or variables speaks for all of it, as does one
// at the end of a line; each type speaks for itself, unless it is an alias, whose
// comment is where the type is defined.
func bareNames(d *ast.GenDecl) []*ast.Ident {
	var out []*ast.Ident
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			byGroup := d.Doc.Text() != "" && (!d.Lparen.IsValid() || spec.Assign.IsValid())
			if spec.Name.IsExported() && !byGroup && spec.Doc.Text() == "" {
				out = append(out, spec.Name)
			}
		case *ast.ValueSpec:
			if d.Doc.Text() != "" || spec.Doc.Text() != "" || spec.Comment.Text() != "" || d.Tok == token.IMPORT {
				continue
			}
			for _, name := range spec.Names {
				if name.IsExported() {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

func TestComment_checks_on_bad_files(t *testing.T) {
	t.Parallel()
	all, err := sources(fstest.MapFS{
		"good/doc.go": text(`// Package good is explained.
			package good`),
		"good/a.go": text(`package good
			// A is explained.
			type A int
			// Do is explained.
			func (a *A) Do() {}
			type hidden int
			func (hidden) Do() {}
			// These are explained together.
			const ( X = 1; Y = 2 )
			var Z = 1 // explained at its end
			// Names of another package.
			type ( S = other.S; T = other.T )
			func help() {}`),
		"bad/a.go": text(`// Package bad is explained in the wrong file.
			package bad
			type B int
			func (b B) Do() {}
			func (b *G[T]) Also() {}
			// G is explained.
			type G[T any] int
			//go:noinline
			func Free() {}
			const ( P = 1
				// Q is explained.
				Q = 2 )
			// A group of types does not speak for each.
			type ( C int
				// D is explained.
				D int )
			type ( E = other.E )`),
		"bad/b.go":             text("package bad"),
		"single/only.go":       text("// Package single is one file.\npackage single"),
		"bare/only.go":         text("package bare"),
		"bad/a_test.go":        text(`package bad; func Helper() {}`),
		"program/main.go":      text("// A program may be explained anywhere.\npackage main\nfunc main() {}"),
		"onlytests/a_test.go":  text(`package onlytests`),
		"bad/testdata/c.go":    text(`package skipped; func Bare() {}`),
		".hidden/c.go":         text(`package skipped; func Bare() {}`),
		"empty/doc.go":         text("// \npackage empty"),
		"empty/not a go file":  text("nonsense"),
		"directive/doc.go":     text("//go:build !never\n\npackage directive"),
		"detached/doc.go":      text("// Package detached is far from its clause.\n\npackage detached"),
		"program/empty/run.go": text("package main"),
	})
	if err != nil {
		t.Fatal(err)
	}
	wantPackages := []string{
		"bad: package bad has no package comment in doc.go",
		"bare: package bare has no package comment in doc.go",
		"detached: package detached has no package comment in doc.go",
		"directive: package directive has no package comment in doc.go",
		"empty: package empty has no package comment in doc.go",
		"program/empty: package main has no package comment in doc.go",
	}
	if got := packageCommentViolations(all); !slices.Equal(got, wantPackages) {
		t.Errorf("packages\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantPackages, "\n"))
	}
	wantNames := []string{
		"bad/a.go:3: B has no comment", "bad/a.go:4: Do has no comment", "bad/a.go:5: Also has no comment",
		"bad/a.go:9: Free has no comment", "bad/a.go:10: P has no comment", "bad/a.go:14: C has no comment",
		"bad/a.go:17: E has no comment",
	}
	if got := nameCommentViolations(all); !slices.Equal(got, wantNames) {
		t.Errorf("names\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantNames, "\n"))
	}
}

func TestSources_refuses_nothing_and_broken_files(t *testing.T) {
	t.Parallel()
	for name, tree := range map[string]fstest.MapFS{
		"nothing": {"README.md": text("# no Go")},
		"broken":  {"a.go": text("pakage a")},
	} {
		if got, err := sources(tree); err == nil {
			t.Errorf("%s: %d files, want an error", name, len(got))
		}
	}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
