package rules_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/redact/rules"
)

func vendors(t testing.TB) *rules.Rules {
	t.Helper()
	r, err := rules.New()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// random makes tokens of a form, so that none stands in this file.
func random(seed uint64, letters string, n int) string {
	source := rand.New(rand.NewPCG(seed, 1))
	out := make([]byte, n)
	for i := range out {
		out[i] = letters[source.IntN(len(letters))]
	}
	return string(out)
}

const (
	digits  = "0123456789"
	small   = "abcdefghijklmnopqrstuvwxyz"
	letters = digits + small + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func TestE93_tokens_of_vendors(t *testing.T) {
	t.Parallel()
	r, err := redact.New(redact.Config{Rules: []redact.Finder{vendors(t)}})
	if err != nil {
		t.Fatal(err)
	}
	for i, token := range []string{
		"ghp_" + random(1, letters, 36),
		"github_pat_" + random(2, letters, 82),
		"glpat-" + random(3, letters, 20),
		"npm_" + random(4, digits+small, 36),
		"AKIA" + random(5, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
		"AKIAIOSFODNN7EXAMPLE", // allowed by the rule set, and hidden here: it says what it is
		"sk_live_" + strings.Repeat("A", 24),
		"xoxb-" + random(6, digits, 11) + "-" + random(7, digits, 11) + "-" + random(8, letters, 24),
		"SG." + random(9, letters, 22) + "." + random(10, letters, 43),
		"AIza" + random(11, letters, 35),
		"hvs." + random(12, letters, 95),
		"shpat_" + random(13, "abcdef"+digits, 32),
	} {
		for _, around := range []string{"%s", "a %s b", `{"note":"see %s","n":1}`, `[{"a":["%s"]}]`, "x=%s;", "# gitleaks:allow %s gitleaks:allow"} {
			input := fmt.Sprintf(around, token)
			v, err := r.Redact(context.Background(), redact.Result, []byte(input))
			if want := fmt.Sprintf(around, redact.Replacement); err != nil || string(v.Text) != want {
				t.Errorf("token %d in %q: %q, %v, want %q", i, around, v.Text, err, want)
			}
		}
	}
	// A rule that knows its vendor by the name of the variable sees a member's name.
	member := `{"adobe_client_id":"` + random(14, "abcdef"+digits, 32) + `","id":"` + random(14, "abcdef"+digits, 32) + `"}`
	v, err := r.Redact(context.Background(), redact.Result, []byte(member))
	want := `{"adobe_client_id":"[REDACTED]","id":"` + random(14, "abcdef"+digits, 32) + `"}`
	if err != nil || string(v.Text) != want {
		t.Errorf("%s, %v, want %s", v.Text, err, want)
	}
}

func TestE93_what_only_looks_like_a_token_stays(t *testing.T) {
	t.Parallel()
	r := vendors(t)
	commit := hex.EncodeToString([]byte(random(1, letters, 20)))
	for _, text := range []string{
		"commit " + commit + " by bob",
		"sourcegraph is a tool." + strings.Repeat(" and so on", 40) + " commit " + commit,
		"api_key = one-two-three-four-five; secret: " + random(2, letters, 40), // by names: not the business of these rules
		"9f86d081-884c-4d65-9a2f-eaa0c55ad015 sk_test_short hf_abc ghp_short",
	} {
		if got := r.Find(text); len(got) != 0 {
			t.Errorf("%s: %v", text, got)
		}
	}
	if near := "sourcegraph token: " + commit + " "; len(r.Find(near)) == 0 {
		t.Errorf("nothing in %s", near)
	}
}

// The rules are shared by all goroutines of a host. The same text gives the same
// spans, in this and in any other instance.
func TestFind_is_the_same_every_time(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x ghp_"+random(1, letters, 36)+" xoxb-"+random(2, digits, 11)+"-"+random(3, digits, 11)+" İ AKIA"+random(4, "ABCDEFGH", 16)+"\n", 50)
	one, other := vendors(t), vendors(t)
	if one.Name() != other.Name() {
		t.Errorf("names %q and %q", one.Name(), other.Name())
	}
	want := one.Find(text)
	if len(want) < 150 {
		t.Errorf("%d spans, want 150", len(want))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, r := range []*rules.Rules{one, other} {
				if got := r.Find(text); !slices.Equal(got, want) {
					t.Errorf("%d spans, want the same %d", len(got), len(want))
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkFind reads a log of 1 MiB in which no keyword of a rule stands but the
// shortest ones.
func BenchmarkFind(b *testing.B) {
	line := "2026-01-02T03:04:05.678Z INFO  [worker-7] http: GET https://api.example.com:8443/v1/items?page=3 status=200 took=12ms user=\"bob\"\n"
	log := strings.Repeat(line, 1<<20/len(line))
	r := vendors(b)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		r.Find(log)
	}
}
