package lines_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/lines"
)

const whole = `{"format":"lines/1","sources":["app"],"window":{"from":"2026-01-02T03:00:00Z","to":"2026-01-02T03:30:00Z"},"query":"q","limit":9,` +
	`"order":"newest_first","records":[{"time":"2026-01-02T03:01:00Z","level":"E","message":"m"},{"message_base64":"/w=="}],"returned":2,"end_reached":true}`

const empty = `{"format":"lines/1","sources":["app"],"window":null,"query":"","records":[],"returned":0,"end_reached":true}`

// wantDocumentError checks the type, and that nothing of the document is in it.
func wantDocumentError(t *testing.T, err error) *lines.DocumentError {
	t.Helper()
	detail, ok := errors.AsType[*lines.DocumentError](err)
	if !ok {
		t.Fatalf("got %v, want a DocumentError", err)
	}
	if strings.Contains(fmt.Sprintf("%v %v", err, detail), "SECRET") {
		t.Errorf("error repeats the document: %v", detail)
	}
	return detail
}

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
		"empty":                  {"", ""},
		"null":                   {"null", ""},
		"array":                  {"[]", ""},
		"empty_object":           {"{}", "format"},
		"prose":                  {"no logs found", ""},
		"error_object":           {`{"error":"SECRET"}`, "error"},
		"error_beside_records":   {replace(`"returned"`, `"error":null,"returned"`), "error"},
		"status_error":           {replace(`"returned"`, `"status":"Error","returned"`), "status"},
		"status_failed":          {replace(`"returned"`, `"status":"failed","returned"`), "status"},
		"two_documents":          {whole + whole, ""},
		"duplicate_member":       {replace(`"returned":2`, `"returned":2,"returned":2`), ""},
		"other_format":           {replace("lines/1", "lines/2"), "format"},
		"no_source":              {replace(`["app"]`, "[]"), "sources"},
		"source_without_a_name":  {replace(`["app"]`, `["app"," "]`), "sources"},
		"sources_a_string":       {replace(`["app"]`, `"SECRET"`), "sources"},
		"window_missing":         {replace(`"window":{"from":"2026-01-02T03:00:00Z","to":"2026-01-02T03:30:00Z"},`, ""), "window"},
		"window_a_string":        {replace(`{"from":"2026-01-02T03:00:00Z","to":"2026-01-02T03:30:00Z"}`, `"SECRET"`), "window"},
		"window_open":            {replace(`,"to":"2026-01-02T03:30:00Z"`, ""), "window"},
		"window_reversed":        {replace(`"to":"2026-01-02T03:30:00Z"`, `"to":"2026-01-02T02:59:59Z"`), "window"},
		"window_no_time":         {replace(`"to":"2026-01-02T03:30:00Z"`, `"to":"now"`), "window"},
		"query_missing":          {replace(`"query":"q",`, ""), "query"},
		"query_null":             {replace(`"query":"q"`, `"query":null`), "query"},
		"limit_zero":             {replace(`"limit":9`, `"limit":0`), "limit"},
		"limit_too_small":        {replace(`"limit":9`, `"limit":1`), "limit"},
		"limit_no_integer":       {replace(`"limit":9`, `"limit":9.5`), "limit"},
		"order_unknown":          {replace(`newest_first`, `SECRET`), "order"},
		"cut_by_unknown":         {replace(`"returned"`, `"cut_by":"SECRET","returned"`), "cut_by"},
		"records_missing":        {`{"format":"lines/1","sources":["app"],"window":null,"query":"","returned":0,"end_reached":true}`, "records"},
		"records_null":           {strings.Replace(empty, `"records":[]`, `"records":null`, 1), "records"},
		"records_an_object":      {strings.Replace(empty, `"records":[]`, `"records":{}`, 1), "records"},
		"record_a_string":        {replace(`{"message_base64":"/w=="}`, `"SECRET"`), "records"},
		"record_null":            {replace(`{"message_base64":"/w=="}`, `null`), "records"},
		"record_without_message": {replace(`,"message":"m"`, ``), "records"},
		"record_with_two":        {replace(`"message_base64"`, `"message":"m","message_base64"`), "records"},
		"message_no_string":      {replace(`"message":"m"`, `"message":{"SECRET":1}`), "records"},
		"message_no_base64":      {replace(`/w==`, `SECRET!`), "records"},
		"time_no_time":           {replace(`"time":"2026-01-02T03:01:00Z"`, `"time":"SECRET"`), "records"},
		"time_without_zone":      {replace(`"time":"2026-01-02T03:01:00Z"`, `"time":"2026-01-02T03:01:00"`), "records"},
		"time_empty":             {replace(`"time":"2026-01-02T03:01:00Z"`, `"time":""`), "records"},
		"time_out_of_years":      {replace(`"time":"2026-01-02T03:01:00Z"`, `"time":"9999-12-31T23:59:59-08:00"`), "records"},
		"retained_no_time":       {replace(`"returned"`, `"retained_from":1,"returned"`), "retained_from"},
		"retained_bad_time":      {replace(`"returned"`, `"retained_from":"SECRET","returned"`), "retained_from"},
		"gap_without_reason":     {replace(`"returned"`, `"cannot_cover":[{"what":"SECRET"}],"returned"`), "cannot_cover"},
		"gaps_no_list":           {replace(`"returned"`, `"cannot_cover":1,"returned"`), "cannot_cover"},
		"failure_without_source": {replace(`"returned"`, `"failed":[{"reason":"SECRET"}],"returned"`), "failed"},
		"returned_wrong":         {replace(`"returned":2`, `"returned":0`), "returned"},
		"returned_missing":       {replace(`"returned":2,`, ``), "returned"},
		"end_missing":            {replace(`,"end_reached":true`, ``), "end_reached"},
		"end_no_boolean":         {replace(`"end_reached":true`, `"end_reached":null`), "end_reached"},
		"nothing_and_no_end":     {strings.Replace(empty, "true", "false", 1), "end_reached"},
		"invalid_utf8":           {replace(`"m"`, "\"\xff\""), "records"},
		"lone_surrogate":         {replace(`"m"`, `"\ud800"`), "records"},
		"deep_nesting":           {replace(`"m"`, `"m","x":`+strings.Repeat(`[`, 20000)+strings.Repeat("]", 20000)), "records"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := project(t, c.raw, lines.Options{})
			if err == nil {
				t.Fatalf("projected as %s", p.Status)
			}
			if got := wantDocumentError(t, err); got.Member != c.member {
				t.Errorf("error names %q, want %q (%v)", got.Member, c.member, got)
			}
		})
	}
}

// A stream that was cut anywhere is an error: also one without records, which
// must not turn into an absence by losing its end.
func TestEveryPrefixIsAnError(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{whole, empty} {
		if _, err := project(t, raw, lines.Options{}); err != nil {
			t.Fatalf("the whole document: %v", err)
		}
		for cut := range len(raw) {
			if p, err := project(t, raw[:cut], lines.Options{}); err == nil {
				t.Fatalf("cut at %d projected as %s", cut, p.Status)
			}
		}
	}
}

func TestMembersInAnyOrder(t *testing.T) {
	t.Parallel()
	p, err := project(t, `{"end_reached":true,"returned":1,"status":"ok","records":[{"message":"m","metrics":{"cpu":0.5}}],"query":"","more":[1],"window":null,`+
		`"sources":["a"],"format":"lines/1"} `, lines.Options{})
	if err != nil || p.Status != evidence.Found {
		t.Errorf("%s, %v; want a record whatever the order and the unknown members", p.Status, err)
	}
}

func TestMessageBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	if got := read(t, projected(t, whole, lines.Options{})).Samples[1]["message"]; got != "\uFFFD" {
		t.Errorf("message %q, want the replacement character", got)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lines.New(lines.Options{}).Project(ctx, projector.Input{Raw: []byte(whole)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Project = %v, want %v", err, context.Canceled)
	}
}
