package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// graph is who imports what, tests left out. Packages of the module under test
// are in ours, all others (the standard library too) are only reached.
type graph struct {
	imports map[string][]string
	ours    []string
}

// listGraph asks the go command about every package of the module in dir.
func listGraph(dir, module string) (graph, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", "./...")
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return graph{}, fmt.Errorf("go list: %w: %s", err, complaint.String())
	}
	return readGraph(bytes.NewReader(out), module)
}

func readGraph(in io.Reader, module string) (graph, error) {
	g := graph{imports: map[string][]string{}}
	for packages := json.NewDecoder(in); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := packages.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return graph{}, err
		}
		g.imports[p.ImportPath] = p.Imports
		if matches(p.ImportPath, module+"/...") {
			g.ours = append(g.ours, p.ImportPath)
		}
	}
	if len(g.ours) == 0 {
		return graph{}, fmt.Errorf("no package of %s", module)
	}
	slices.Sort(g.ours)
	return g, nil
}

// path returns the shortest chain of imports from one package to any that is
// wanted, or nil. It does not walk on through a package that stop names.
func (g graph) path(from string, wanted, stop func(string) bool) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != from && wanted(at) {
			return trace(came, at)
		}
		if at != from && stop(at) {
			continue
		}
		for _, next := range g.imports[at] {
			if _, seen := came[next]; !seen {
				came[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func trace(came map[string]string, to string) []string {
	var chain []string
	for at := to; at != ""; at = came[at] {
		chain = append(chain, at)
	}
	slices.Reverse(chain)
	return chain
}

// matches understands a path, or a path and all below it: "x/...".
func matches(path, pattern string) bool {
	if base, below := strings.CutSuffix(pattern, "/..."); below {
		return path == base || strings.HasPrefix(path, base+"/")
	}
	return path == pattern
}

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(path, p) })
}
