package vectors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Class says what a JSON parser owes a text of json-test-suite. It is the first
// letter of the file's name there.
type Class byte

// The classes of json-test-suite.
const (
	MustAccept Class = 'y' // valid under RFC 8259
	MustReject Class = 'n' // not JSON
	MayChoose  Class = 'i' // RFC 8259 leaves it to the parser: huge numbers, lone surrogates, byte order marks
	Ambiguous  Class = 't' // parses, but parsers disagree on the value: repeated members, digits beyond a float
)

// JSONVector is one text of json-test-suite.
type JSONVector struct {
	Name      string // path below the set, slashes: "test_parsing/y_array_empty.json"
	Class     Class
	Bytes     []byte
	ValidUTF8 bool // from expected.json
	Repeats   bool // an object in it has two members of one name
	Depth     int  // deepest nesting of arrays and objects, 0 for a scalar
}

// JSONTestSuite returns the texts of testdata/json-test-suite by name. It fails
// t when a text is missing, is unknown to expected.json or has another size
// than noted there.
func JSONTestSuite(t testing.TB) []JSONVector {
	t.Helper()
	out, err := loadJSON(Dir(t, "json-test-suite"))
	if err != nil {
		t.Fatalf("vectors: json-test-suite: %v", err)
	}
	return out
}

type jsonExpectation struct {
	Class     string `json:"class"`
	ValidUTF8 bool   `json:"valid_utf8"`
	Repeats   bool   `json:"duplicate_key"`
	Bytes     int    `json:"bytes"`
	Depth     int    `json:"max_depth"`
}

func loadJSON(dir string) ([]JSONVector, error) {
	expected := map[string]jsonExpectation{}
	if err := readJSON(filepath.Join(dir, "expected.json"), &expected); err != nil {
		return nil, err
	}
	var out []JSONVector
	for _, folder := range []string{"test_parsing", "test_transform"} {
		err := fs.WalkDir(os.DirFS(dir), folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			v, err := jsonVector(dir, name, expected)
			out = append(out, v)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, sameCount(len(out), len(expected))
}

func jsonVector(dir, name string, expected map[string]jsonExpectation) (JSONVector, error) {
	want, known := expected[name]
	if !known {
		return JSONVector{}, fmt.Errorf("%s is not in expected.json", name)
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return JSONVector{}, err
	}
	if len(text) != want.Bytes {
		return JSONVector{}, fmt.Errorf("%s has %d bytes, expected.json says %d", name, len(text), want.Bytes)
	}
	class, err := classOf(want.Class)
	if err != nil {
		return JSONVector{}, fmt.Errorf("%s: %w", name, err)
	}
	return JSONVector{
		Name: name, Class: class, Bytes: text,
		ValidUTF8: want.ValidUTF8, Repeats: want.Repeats, Depth: want.Depth,
	}, nil
}

func classOf(word string) (Class, error) {
	switch word {
	case "y", "n", "i":
		return Class(word[0]), nil
	case "transform":
		return Ambiguous, nil
	}
	return 0, fmt.Errorf("unknown class %q", word)
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return nil
}

// sameCount is the guard against a set that shrank: a loop over nothing passes
// every test.
func sameCount(got, want int) error {
	if got == 0 {
		return fmt.Errorf("no elements")
	}
	if got != want {
		return fmt.Errorf("%d elements, expected.json counts %d", got, want)
	}
	return nil
}
