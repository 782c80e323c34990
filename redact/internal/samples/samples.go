// Package samples reads the set of fake secrets in redact/testdata and counts
// what a redactor makes of it: planted values that are gone, planted values that
// are still there, clean texts that were changed. It is shared by the tests of
// redact and of its nested module.
package samples

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolharness/harness/redact"
)

// Sample is one text of the set.
type Sample struct {
	Name     string    `json:"name"`
	Text     []byte    `json:"input_b64"`
	Findings []Finding `json:"findings"` // empty: a clean text
}

// Finding is a planted value.
type Finding struct {
	Kind   string `json:"kind"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
}

// Load reads samples.jsonl of a folder. A set of another size than expected.json
// says is an error: a shorter loop would pass every test.
func Load(folder string) ([]Sample, error) {
	file, err := os.ReadFile(filepath.Join(folder, "samples.jsonl"))
	if err != nil {
		return nil, err
	}
	var out []Sample
	for lines := bufio.NewScanner(bytes.NewReader(file)); lines.Scan(); {
		var s Sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("sample %d: %w", len(out)+1, err)
		}
		out = append(out, s)
	}
	var expected struct {
		Samples int `json:"samples"`
	}
	file, err = os.ReadFile(filepath.Join(folder, "expected.json"))
	if err == nil {
		err = json.Unmarshal(file, &expected)
	}
	if err == nil && (len(out) == 0 || len(out) != expected.Samples) {
		err = fmt.Errorf("%d samples, expected.json counts %d", len(out), expected.Samples)
	}
	return out, err
}

// Count redacts every sample and returns a table: planted, found and missed by
// kind, then the clean texts that were changed.
func Count(all []Sample, r *redact.Redactor) (string, error) {
	type tally struct{ planted, missed int }
	kinds := map[string]tally{}
	var total tally
	var changed []string
	clean := 0
	for _, s := range all {
		view, err := r.Redact(context.Background(), redact.Result, s.Text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.Name, err)
		}
		if len(s.Findings) == 0 {
			clean++
			if !bytes.Equal(view.Text, s.Text) {
				changed = append(changed, s.Name)
			}
		}
		for _, f := range s.Findings {
			k := kinds[f.Kind]
			k.planted++
			total.planted++
			if bytes.Contains(view.Text, s.Text[f.Offset:f.Offset+f.Length]) {
				k.missed++
				total.missed++
			}
			kinds[f.Kind] = k
		}
	}
	var out strings.Builder
	row := func(kind string, t tally) {
		fmt.Fprintf(&out, "%-32s %2d planted %2d found %2d missed\n", kind, t.planted, t.planted-t.missed, t.missed)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row(kind, kinds[kind])
	}
	row("all", total)
	fmt.Fprintf(&out, "%-32s %2d texts   %2d changed %s", "clean", clean, len(changed), strings.Join(changed, ", "))
	return strings.TrimRight(out.String(), " "), nil
}
