package rows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/rows"
)

const whole = `{"format":"rows/1","columns":[{"name":"a"},{"name":"b"}],"rows":[[1,"x"],[2,{"base64":"/w=="}]],"row_count":2,"truncated":false}`

// Everything that is not a whole document of ours is an error that names the
// member and repeats nothing, and never an absence.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%q is not in the document", old)
		}
		return strings.Replace(whole, old, new, 1)
	}
	for name, c := range map[string]struct{ raw, member string }{
		"empty":                     {"", ""},
		"null":                      {"null", ""},
		"array":                     {"[]", ""},
		"empty_object":              {"{}", "format"},
		"prose":                     {"no rows found", ""},
		"error_object":              {`{"error":"SECRET"}`, "error"},
		"error_beside_rows":         {replace(`"truncated":false`, `"truncated":false,"error":null`), "error"},
		"two_documents":             {whole + whole, ""},
		"other_format":              {replace("rows/1", "rows/2"), "format"},
		"format_no_string":          {replace(`"rows/1"`, "1"), "format"},
		"no_columns":                {replace(`[{"name":"a"},{"name":"b"}]`, "[]"), "columns"},
		"null_columns":              {replace(`[{"name":"a"},{"name":"b"}]`, "null"), "columns"},
		"columns_of_another_shape":  {replace(`[{"name":"a"},{"name":"b"}]`, `["a","b"]`), "columns"},
		"row_too_narrow":            {replace(`[1,"x"]`, "[1]"), "rows"},
		"row_too_wide":              {replace(`[1,"x"]`, `[1,"x",2]`), "rows"},
		"row_an_object":             {replace(`[1,"x"]`, `{"a":1,"b":"x"}`), "rows"},
		"cell_an_array":             {replace(`"x"`, `["SECRET"]`), "rows"},
		"cell_an_object":            {replace(`"x"`, `{"SECRET":1}`), "rows"},
		"cell_marked_but_no_base64": {replace("/w==", "SECRET!"), "rows"},
		"cell_marked_and_more":      {replace(`"base64":"/w=="`, `"base64":"/w==","SECRET":1`), "rows"},
		"rows_null":                 {replace(`[[1,"x"],[2,{"base64":"/w=="}]]`, "null"), "rows"},
		"rows_missing":              {replace(`"rows":[[1,"x"],[2,{"base64":"/w=="}]],`, ""), "rows"},
		"count_wrong":               {replace(`"row_count":2`, `"row_count":0`), "row_count"},
		"count_no_integer":          {replace(`"row_count":2`, `"row_count":2.0`), "row_count"},
		"count_negative":            {replace(`"row_count":2`, `"row_count":-2`), "row_count"},
		"count_too_large":           {replace(`"row_count":2`, `"row_count":99999999999999999999`), "row_count"},
		"count_missing":             {replace(`"row_count":2,`, ""), "row_count"},
		"truncated_missing":         {replace(`,"truncated":false`, ""), "truncated"},
		"truncated_no_boolean":      {replace(`"truncated":false`, `"truncated":null`), "truncated"},
		"truncated_count_too_small": {replace(`"row_count":2,"truncated":false`, `"row_count":1,"truncated":true`), "row_count"},
		"truncated_to_nothing":      {`{"format":"rows/1","columns":[{"name":"a"}],"rows":[],"row_count":0,"truncated":true}`, "truncated"},
		"duplicate_member":          {replace(`"truncated":false`, `"truncated":true,"truncated":false`), ""},
		"invalid_utf8":              {replace(`"x"`, "\"\xff\""), "rows"},
		"lone_surrogate":            {replace(`"x"`, `"\ud800"`), "rows"},
		"parameters_no_array":       {replace(`"columns"`, `"parameters":{"SECRET":1},"columns"`), "parameters"},
		"deep_nesting":              {replace(`"x"`, strings.Repeat(`{"base64":`, 5000)+strings.Repeat("}", 5000)), "rows"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := project(t, c.raw, rows.Options{})
			detail, ok := errors.AsType[*rows.DocumentError](err)
			if !ok {
				t.Fatalf("projected as %q, %v; want a DocumentError", p.Status, err)
			}
			if detail.Member != c.member {
				t.Errorf("error names %q, want %q (%v)", detail.Member, c.member, detail)
			}
			if strings.Contains(fmt.Sprintf("%v %v", err, detail), "SECRET") {
				t.Errorf("error repeats the document: %v", detail)
			}
		})
	}
}

// A stream that was cut anywhere is an error: also a result without rows, which
// must not turn into an absence by losing its end.
func TestEveryPrefixIsAnError(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{whole, `{"format":"rows/1","columns":[{"name":"a"}],"rows":[],"row_count":0,"truncated":false}`} {
		if _, err := project(t, raw, rows.Options{}); err != nil {
			t.Fatalf("the whole document: %v", err)
		}
		for cut := range len(raw) {
			if p, err := project(t, raw[:cut], rows.Options{}); err == nil {
				t.Fatalf("cut at %d projected as %s", cut, p.Status)
			}
		}
	}
}

func TestMembersInAnyOrder(t *testing.T) {
	t.Parallel()
	p, err := project(t, `{"truncated":false,"row_count":1,"rows":[[1]],"later":{"x":[1]},"columns":[{"name":"a","more":1}],"format":"rows/1"} `, rows.Options{})
	if err != nil || p.Status != evidence.Found {
		t.Errorf("%s, %v; want a found row whatever the order and the unknown members", p.Status, err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rows.New(rows.Options{}).Project(ctx, projector.Input{Raw: []byte(whole)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Project = %v, want %v", err, context.Canceled)
	}
}
