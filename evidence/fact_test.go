package evidence_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
)

func goodFact() evidence.Fact {
	return evidence.Fact{Subject: evidence.Subject{Kind: "table", ID: "Invoice"}, Predicate: "row_count", Value: "412"}
}

func TestFactValidate(t *testing.T) {
	t.Parallel()
	if err := goodFact().Validate(); err != nil {
		t.Fatalf("a good fact: %v", err)
	}
	if err := (evidence.Fact{Subject: evidence.Subject{Kind: "k"}, Predicate: "p"}).Validate(); err != nil {
		t.Errorf("empty id and value: %v, want them accepted", err)
	}
	for _, c := range []struct {
		field  string
		change func(*evidence.Fact, string)
		limit  int
	}{
		{"fact.subject.kind", func(f *evidence.Fact, s string) { f.Subject.Kind = s }, evidence.MaxFactName},
		{"fact.subject.id", func(f *evidence.Fact, s string) { f.Subject.ID = s }, evidence.MaxFactName},
		{"fact.predicate", func(f *evidence.Fact, s string) { f.Predicate = s }, evidence.MaxFactName},
		{"fact.value", func(f *evidence.Fact, s string) { f.Value = s }, evidence.MaxFactValue},
	} {
		t.Run(c.field, func(t *testing.T) {
			f := goodFact()
			c.change(&f, strings.Repeat("é", c.limit/2))
			if err := f.Validate(); err != nil {
				t.Errorf("exactly %d bytes: %v", c.limit, err)
			}
			c.change(&f, strings.Repeat("é", c.limit/2)+"x")
			if e := wantError(t, f.Validate(), c.field, "éé"); e.Size != int64(c.limit+1) || e.Limit != int64(c.limit) {
				t.Errorf("sizes %d, %d in the error, want %d, %d", e.Size, e.Limit, c.limit+1, c.limit)
			}
			for _, text := range []string{"SECRET\nforged: line", "SECRET\x00", "SECRET\u202e", "SECRET\u2028", "SECRET\xff", "SECRET\u0085", "SECRET\u200b"} {
				c.change(&f, text)
				wantError(t, f.Validate(), c.field, "SECRET")
			}
		})
	}
	for field, f := range map[string]evidence.Fact{
		"fact.subject.kind": {Predicate: "p", Value: "v"},
		"fact.predicate":    {Subject: evidence.Subject{Kind: "k", ID: "1"}, Value: "v"},
	} {
		wantError(t, f.Validate(), field, "")
	}
}

func TestNewFact(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("漢", 200)
	got := evidence.NewFact(evidence.Subject{Kind: "log\nforged", ID: long}, " level\t", "9007199254740993")
	if err := got.Validate(); err != nil {
		t.Fatal(err)
	}
	if got.Subject.Kind != "log forged" || got.Predicate != "level" || got.Value != "9007199254740993" {
		t.Errorf("NewFact = %+v, want folded names and all digits", got)
	}
	if !strings.HasSuffix(got.Subject.ID, evidence.ClipMark) || len(got.Subject.ID) > evidence.MaxFactName {
		t.Errorf("a long id became %q, want it cut with a mark", got.Subject.ID)
	}
}
