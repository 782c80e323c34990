package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/lifecycle"
)

func TestRegistry_keeps_what_was_registered(t *testing.T) {
	t.Parallel()
	given := map[lifecycle.Code]string{"ACCOUNT_LOCKED": "The account is locked.", "B": strings.Repeat("x", lifecycle.MaxMessage)}
	r, err := lifecycle.NewRegistry(given)
	if err != nil {
		t.Fatal(err)
	}
	given["ACCOUNT_LOCKED"] = "changed"
	given["LATER"] = "added"
	if got := r.Message("ACCOUNT_LOCKED"); got != "The account is locked." {
		t.Errorf("message %q, want the registered one", got)
	}
	if !r.Has("ACCOUNT_LOCKED") || !r.Has("B") || r.Has("LATER") || r.Has("") || r.Has(lifecycle.ToolTimeout) {
		t.Errorf("has: %v %v %v %v %v", r.Has("ACCOUNT_LOCKED"), r.Has("B"), r.Has("LATER"), r.Has(""), r.Has(lifecycle.ToolTimeout))
	}
}

// Whatever code a record carries, the model reads a constant text.
func TestRegistry_every_code_has_a_message(t *testing.T) {
	t.Parallel()
	r, err := lifecycle.NewRegistry(nil)
	if err != nil {
		t.Fatal(err)
	}
	failed, _ := lifecycle.ToolExecutionFailed.Info()
	for _, registry := range []*lifecycle.Registry{r, nil, {}} {
		for _, code := range lifecycle.Codes() {
			if info, _ := code.Info(); registry.Message(code) != info.Message {
				t.Errorf("%s reads %q, want the table's text", code, registry.Message(code))
			}
		}
		for _, code := range []lifecycle.Code{"SOMEBODY_ELSES", "", "not a code"} {
			if got := registry.Message(code); got != failed.Message || registry.Has(code) {
				t.Errorf("%q reads %q, has %v; want the text of a failed tool", code, got, registry.Has(code))
			}
		}
	}
}

func TestRegistry_reports_everything_at_once(t *testing.T) {
	t.Parallel()
	_, err := lifecycle.NewRegistry(map[lifecycle.Code]string{
		"lower":                "text", // not a code
		lifecycle.ToolTimeout:  "text",
		lifecycle.Unauthorized: "text",
		"NO_TEXT":              "",
		"LONG_TEXT":            strings.Repeat("x", lifecycle.MaxMessage+1),
		"NO_UTF8":              "text\xff",
		"GOOD":                 "marker-4711",
	})
	bad, ok := errors.AsType[*lifecycle.RegistryError](err)
	if !ok || len(bad.Problems) != 6 || !slices.IsSorted(bad.Problems) {
		t.Fatalf("NewRegistry = %v, want six problems, sorted", err)
	}
	for _, want := range []string{"TOOL_TIMEOUT is built in", "UNAUTHORIZED is built in", "NO_TEXT needs", "LONG_TEXT needs", "NO_UTF8 needs", "does not match"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "marker-4711") || strings.Contains(err.Error(), "lower") {
		t.Errorf("error %q repeats what was given", err)
	}
}

// A registry is read by many calls at once.
func TestRegistry_concurrent_reads(t *testing.T) {
	t.Parallel()
	r, err := lifecycle.NewRegistry(map[lifecycle.Code]string{"OWN": "Own."})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for range 1000 {
				if !r.Has("OWN") || r.Message("OWN") != "Own." {
					t.Fatal("the registered code is gone")
				}
			}
		})
	}
}
