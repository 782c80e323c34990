package rules

import (
	"crypto/sha256"
	"fmt"
	"math"
	"regexp"
	"strings"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
	"github.com/spf13/viper"
	"github.com/toolharness/harness/redact"
	"github.com/zricethezav/gitleaks/v8/config"
)

const (
	selection = "gitleaks/1"      // changes with what is taken from the rule set
	generic   = "generic-api-key" // see the package comment
	vicinity  = 256               // bytes between a finding and its rule's keyword
	telling   = 3                 // bytes of a keyword that make a secret tell its kind
)

// Rules are the chosen rules of gitleaks.
type Rules struct {
	name     string
	rules    []rule
	keywords *ahocorasick.Trie
	of       [][]int // rules by keyword
}

type rule struct {
	pattern  *regexp.Regexp
	group    int
	entropy  float64
	allowed  []*config.Allowlist
	keywords []string
}

// New reads the rule set that is linked in. It fails only when that rule set does
// not hold together, which a test would have seen.
func New() (*Rules, error) {
	settings := viper.New()
	settings.SetConfigType("toml")
	if err := settings.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	var written config.ViperConfig
	if err := settings.Unmarshal(&written); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	set, err := written.Translate()
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return choose(set), nil
}

func choose(set config.Config) *Rules {
	r := &Rules{}
	places := map[string]int{}
	var words []string
	for _, id := range set.OrderedRules {
		from := set.Rules[id]
		if id == generic || from.Regex == nil || from.Path != nil || len(from.Keywords) == 0 || len(from.RequiredRules) > 0 {
			continue
		}
		for _, word := range from.Keywords {
			if _, known := places[word]; !known {
				places[word] = len(words)
				words = append(words, word)
				r.of = append(r.of, nil)
			}
			r.of[places[word]] = append(r.of[places[word]], len(r.rules))
		}
		r.rules = append(r.rules, rule{
			pattern: from.Regex, group: from.SecretGroup, entropy: from.Entropy,
			allowed: append(from.Allowlists, set.Allowlists...), keywords: from.Keywords,
		})
	}
	r.keywords = ahocorasick.NewTrieBuilder().AddStrings(words).Build()
	r.name = fmt.Sprintf("%s %x %d rules", selection, sha256.Sum256([]byte(config.DefaultConfig)), len(r.rules))
	return r
}

// Name has the digest of gitleaks' rule set and the number of rules taken from it,
// so that another rule set is another fingerprint.
func (r *Rules) Name() string { return r.name }

// Find returns the secrets, not the whole matches, in the order of the rules.
func (r *Rules) Find(text string) []redact.Span {
	lower := lowered(text)
	var out []redact.Span
	for i, hit := range r.hits(lower) {
		if hit {
			out = append(out, r.rules[i].find(text, lower)...)
		}
	}
	return out
}

// hits are the rules of which a keyword is in the text.
func (r *Rules) hits(lower string) []bool {
	out := make([]bool, len(r.rules))
	seen := make([]bool, len(r.of))
	r.keywords.Walk([]byte(lower), func(_, _, word int64) bool {
		if !seen[word] {
			seen[word] = true
			for _, i := range r.of[word] {
				out[i] = true
			}
		}
		return true
	})
	return out
}

func (r *rule) find(text, lower string) []redact.Span {
	var out []redact.Span
	for _, m := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		start, end := r.secret(m)
		if start == end || !r.holds(text, lower, m, start, end) {
			continue
		}
		for end < len(text) && wordByte(text[end]) && wordByte(text[end-1]) {
			end++
		}
		out = append(out, redact.Span{Start: start, End: end})
	}
	return out
}

// secret is the group that the rule names, else the first that took part, else
// the match.
func (r *rule) secret(m []int) (start, end int) {
	if r.group > 0 {
		return m[2*r.group], m[2*r.group+1]
	}
	for i := 2; i < len(m); i += 2 {
		if m[i] < m[i+1] {
			return m[i], m[i+1]
		}
	}
	return m[0], m[1]
}

func (r *rule) holds(text, lower string, m []int, start, end int) bool {
	near := false
	around := lower[max(0, m[0]-vicinity):min(len(lower), m[1]+vicinity)]
	for _, word := range r.keywords {
		if len(word) >= telling && strings.Contains(lower[start:end], word) {
			return true
		}
		near = near || strings.Contains(around, word)
	}
	secret := text[start:end]
	return near && entropy(secret) >= r.entropy && !r.isAllowed(secret, text[m[0]:m[1]])
}

// isAllowed asks the allow lists about contents. Those that ask for a path or a
// whole line were made for files in a repository.
func (r *rule) isAllowed(secret, match string) bool {
	for _, a := range r.allowed {
		target := secret
		if a.RegexTarget == "match" {
			target = match
		}
		if a.RegexTarget == "line" || a.MatchCondition == config.AllowlistMatchAnd {
			continue
		}
		if a.RegexAllowed(target) {
			return true
		}
		if stop, _ := a.ContainsStopWord(secret); stop {
			return true
		}
	}
	return false
}

// entropy is Shannon's, in bits for each byte. The counts are summed in a fixed
// order: floating point sums depend on it, and a view must not.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			share := float64(n) / float64(len(s))
			sum -= share * math.Log2(share)
		}
	}
	return sum
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// lowered folds ASCII alone, so that offsets stay those of the text. Keywords are
// ASCII.
func lowered(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}
