package remote

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// Package is what a server hands out of its tools, for a client to be configured
// with: an envelope of its own, which loaders of other protocols refuse, as this
// one refuses theirs. It describes and grants nothing.
type Package struct {
	Schema    string        `json:"schema"`
	Protocol  string        `json:"protocol"`
	PackageID string        `json:"package_id"`
	Tools     []PackageTool `json:"tools"`
}

// PackageTool describes one tool. Contract is the fingerprint of name, effect and
// schema; the description is not part of it, so that a better text breaks nobody.
type PackageTool struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Effect      canonical.Effect `json:"effect"`
	InputSchema jsontext.Value   `json:"input_schema,omitzero"`
	Contract    string           `json:"contract"`
}

// ParsePackage reads a package strictly and checks every contract against what
// stands beside it. The error wraps [ErrPackage].
func ParsePackage(text []byte) (Package, error) {
	p, err := Decode[Package](text)
	if err != nil {
		return Package{}, errors.Join(ErrPackage, err)
	}
	return p, nil
}

func (c *checker) pack(p Package) {
	c.that(p.Schema == PackageSchema, "schema", "is not "+PackageSchema)
	c.protocol(p.Protocol)
	c.name("package_id", p.PackageID)
	c.within("tools", int64(len(p.Tools)), 1, MaxTools)
	seen := map[string]bool{}
	for _, t := range p.Tools {
		c.tool("tools.name", t.Name)
		c.that(!seen[t.Name], "tools.name", "is given twice")
		seen[t.Name] = true
		c.that(t.Effect.Valid(), "tools.effect", "is not read, write or unknown")
		contract, err := t.fingerprint()
		c.that(err == nil && contract == t.Contract, "tools.contract", "is not that of the tool")
	}
}

// fingerprint is the contract of a tool.
func (t PackageTool) fingerprint() (string, error) {
	schema := []byte("true")
	if len(t.InputSchema) > 0 {
		var err error
		if schema, err = Canonical(t.InputSchema); err != nil {
			return "", err
		}
	}
	return "sha256:" + digest("harness.remote-contract/1", t.Name, string(t.Effect), string(schema)), nil
}

// packageOf describes tools. Reserved names cannot be offered.
func packageOf(id string, tools []boundary.Tool) (Package, error) {
	p := Package{Schema: PackageSchema, Protocol: Protocol, PackageID: id}
	for _, tool := range tools {
		if reserved(tool.Name) {
			return p, fmt.Errorf("tool %q: the name is reserved", tool.Name)
		}
		t := PackageTool{Name: tool.Name, Description: tool.Description, Effect: tool.Effect, InputSchema: jsontext.Value(tool.Schema)}
		contract, err := t.fingerprint()
		if err != nil {
			return p, fmt.Errorf("tool %q: its schema is not JSON", tool.Name)
		}
		t.Contract = contract
		p.Tools = append(p.Tools, t)
	}
	return p, check(p)
}

// reserved names belong to the tools that read evidence; a remote tool of that name
// would not be told apart from them.
func reserved(name string) bool { return slices.Contains(boundary.ReservedTools(), name) }

func marshal(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }
