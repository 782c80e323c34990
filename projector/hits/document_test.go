package hits_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/hits"
)

const whole = `{"format":"hits/1","status":"success","query":"q","collections":["kb"],"top_k":6,"legs":[{"name":"dense","hits":2}],` +
	`"threshold":{"score":0.5,"score_kind":"similarity"},` +
	`"hits":[{"id":"c1","document":"d1","position":1,"score":0.9,"score_kind":"similarity","matched_by":["dense"],"content":"x"},` +
	`{"document":"d2","score":null,"matched_by":["dense"]}],"returned":2}`

const empty = `{"format":"hits/1","status":"no_results","query":"q","collections":["kb"],"top_k":6,"legs":[{"name":"dense"}],"hits":[],"returned":0}`

// wantDocumentError checks the type, and that nothing of the document is in it.
func wantDocumentError(t *testing.T, err error) *hits.DocumentError {
	t.Helper()
	detail, ok := errors.AsType[*hits.DocumentError](err)
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
		"empty":                   {"", ""},
		"null":                    {"null", ""},
		"array":                   {"[]", ""},
		"empty_object":            {"{}", "format"},
		"prose":                   {"nothing found", ""},
		"error_object":            {`{"error":"SECRET"}`, "error"},
		"status_of_another_tool":  {`{"status":"no_results","resultCount":0,"results":[]}`, "format"},
		"two_documents":           {whole + whole, ""},
		"duplicate_member":        {replace(`"returned":2`, `"returned":2,"returned":2`), ""},
		"other_format":            {replace("hits/1", "hits/2"), "format"},
		"status_missing":          {replace(`"status":"success",`, ""), "status"},
		"status_unknown":          {replace(`"success"`, `"SECRET"`), "status"},
		"status_no_string":        {replace(`"success"`, `1`), "status"},
		"no_results_beside_hits":  {replace(`"success"`, `"no_results"`), "status"},
		"query_missing":           {replace(`"query":"q",`, ""), "query"},
		"no_collection":           {replace(`["kb"]`, "[]"), "collections"},
		"blank_collection":        {replace(`["kb"]`, `["\u200b"]`), "collections"},
		"collections_no_list":     {replace(`["kb"]`, `"SECRET"`), "collections"},
		"top_k_zero":              {replace(`"top_k":6`, `"top_k":0`), "top_k"},
		"top_k_no_integer":        {replace(`"top_k":6`, `"top_k":6.0`), "top_k"},
		"no_leg":                  {replace(`[{"name":"dense","hits":2}]`, "[]"), "legs"},
		"legs_missing":            {replace(`"legs":[{"name":"dense","hits":2}],`, ""), "legs"},
		"every_leg_failed":        {strings.Replace(empty, `{"name":"dense"}`, `{"name":"dense","failed":"SECRET"}`, 1), "legs"},
		"leg_without_name":        {replace(`"name":"dense"`, `"name":""`), "legs"},
		"leg_twice":               {replace(`{"name":"dense","hits":2}`, `{"name":"dense"},{"name":"dense"}`), "legs"},
		"leg_negative":            {replace(`"hits":2`, `"hits":-2`), "legs"},
		"legs_no_list":            {replace(`[{"name":"dense","hits":2}]`, `"SECRET"`), "legs"},
		"nothing_and_a_leg_fails": {strings.Replace(empty, `{"name":"dense"}`, `{"name":"dense"},{"name":"b","failed":"SECRET"}`, 1), "legs"},
		"nothing_and_cut":         {strings.Replace(empty, `"returned"`, `"cut_by":"max_bytes","returned"`, 1), "cut_by"},
		"cut_by_unknown":          {replace(`"returned"`, `"cut_by":"SECRET","returned"`), "cut_by"},
		"threshold_no_number":     {replace(`"score":0.5`, `"score":"SECRET"`), "threshold"},
		"threshold_no_kind":       {replace(`0.5,"score_kind":"similarity"`, `0.5`), "threshold"},
		"threshold_no_object":     {replace(`{"score":0.5,"score_kind":"similarity"}`, `0.5`), "threshold"},
		"below_without_threshold": {strings.Replace(empty, `"returned"`, `"below_threshold":1,"returned"`, 1), "below_threshold"},
		"below_negative":          {replace(`"returned"`, `"below_threshold":-1,"returned"`), "below_threshold"},
		"blank_rewrite":           {replace(`"returned"`, `"rewrites":[""],"returned"`), "rewrites"},
		"blank_filter":            {replace(`"returned"`, `"filters":[" "],"returned"`), "filters"},
		"gap_without_reason":      {replace(`"returned"`, `"cannot_cover":[{"what":"SECRET"}],"returned"`), "cannot_cover"},
		"hits_missing":            {strings.Replace(empty, `"hits":[],`, "", 1), "hits"},
		"hits_null":               {strings.Replace(empty, `"hits":[]`, `"hits":null`, 1), "hits"},
		"hit_no_object":           {replace(`{"document":"d2","score":null,"matched_by":["dense"]}`, `"SECRET"`), "hits"},
		"hit_without_document":    {replace(`"document":"d2",`, ""), "hits"},
		"hit_position_negative":   {replace(`"position":1`, `"position":-1`), "hits"},
		"hit_position_no_integer": {replace(`"position":1`, `"position":1.5`), "hits"},
		"hit_score_no_number":     {replace(`"score":0.9`, `"score":"SECRET"`), "hits"},
		"hit_score_no_kind":       {replace(`0.9,"score_kind":"similarity"`, `0.9`), "hits"},
		"hit_kind_unknown":        {replace(`0.9,"score_kind":"similarity"`, `0.9,"score_kind":"SECRET"`), "hits"},
		"hit_kind_without_score":  {replace(`"score":0.9,`, ``), "hits"},
		"hit_by_unknown_leg":      {replace(`"matched_by":["dense"],"content"`, `"matched_by":["SECRET"],"content"`), "hits"},
		"returned_wrong":          {replace(`"returned":2`, `"returned":0`), "returned"},
		"returned_missing":        {replace(`,"returned":2`, ``), "returned"},
		"invalid_utf8":            {replace(`"x"`, "\"\xff\""), "hits"},
		"lone_surrogate":          {replace(`"x"`, `"\ud800"`), "hits"},
		"deep_nesting":            {replace(`"x"`, `"x","y":`+strings.Repeat(`[`, 20000)+strings.Repeat("]", 20000)), "hits"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wantDocumentError(t, failure(t, c.raw)); got.Member != c.member {
				t.Errorf("error names %q, want %q (%v)", got.Member, c.member, got)
			}
		})
	}
}

// A stream that was cut anywhere is an error: also one without hits, which must
// not turn into an absence by losing its end.
func TestEveryPrefixIsAnError(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{whole, empty} {
		if _, err := project(t, raw, hits.Options{}); err != nil {
			t.Fatalf("the whole document: %v", err)
		}
		for cut := range len(raw) {
			if p, err := project(t, raw[:cut], hits.Options{}); err == nil {
				t.Fatalf("cut at %d projected as %s", cut, p.Status)
			}
		}
	}
}

func TestMembersInAnyOrder(t *testing.T) {
	t.Parallel()
	p, err := project(t, `{"returned":1,"hits":[{"document":"d","matched_by":["a"],"rank":1}],"legs":[{"name":"a"}],"trace":{"ms":3},"top_k":2,`+
		`"collections":["c"],"query":"","status":"success","format":"hits/1"} `, hits.Options{})
	if err != nil || p.Status != evidence.Found {
		t.Errorf("%s, %v; want a hit whatever the order and the unknown members", p.Status, err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hits.New(hits.Options{}).Project(ctx, projector.Input{Raw: []byte(whole)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Project = %v, want %v", err, context.Canceled)
	}
}
