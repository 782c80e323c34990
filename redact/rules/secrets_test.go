package rules_test

import (
	"os"
	"testing"

	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/redact/internal/samples"
	"github.com/toolharness/harness/redact/rules"
	"github.com/toolharness/harness/redact/text"
)

func TestFake_secrets(t *testing.T) {
	t.Parallel()
	all, err := samples.Load("../testdata/fake-secrets")
	if err != nil {
		t.Fatal(err)
	}
	vendors, err := rules.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		rules []redact.Finder
	}{
		{"vendors", []redact.Finder{vendors}},
		{"text_and_vendors", []redact.Finder{text.New(redact.Keys{}), vendors}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := redact.New(redact.Config{Rules: c.rules})
			if err != nil {
				t.Fatal(err)
			}
			got, err := samples.Count(all, r)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s\n%s", vendors.Name(), got)
			want, err := os.ReadFile("testdata/" + c.name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			if got+"\n" != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
