package text

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolharness/harness/redact"
)

// A private key in PEM or OpenPGP armor. Rule sets for repositories ask for the
// end mark; a result that was cut has none, and the key is in it all the same.
var keyBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)

const (
	keyBody  = 44      // base64 digits; the smallest real key, 32 bytes, has 44 of them. Below stand placeholders.
	keyReach = 1 << 16 // how far behind its beginning a block may end
)

func keyBlocks(text string) []redact.Span {
	var out []redact.Span
	for _, at := range keyBegin.FindAllStringIndex(text, -1) {
		body := text[at[1]:min(len(text), at[1]+keyReach)]
		end := len(body)
		if n := strings.Index(body, "-----"); n >= 0 {
			end = n
		} else if n := strings.IndexFunc(body, notArmor); n >= 0 {
			end = n
		}
		if digits(body[:end]) < keyBody {
			continue
		}
		stop := at[1] + end
		if tail := keyEnd.FindStringIndex(text[stop:]); tail != nil {
			stop += tail[1]
		}
		out = append(out, redact.Span{Start: at[0], End: stop})
	}
	return out
}

var keyEnd = regexp.MustCompile(`^-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{0,5}`)

func base64Digit(c rune) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '='
}

// notArmor ends a block without an end mark. Line ends may be written as \n,
// header lines have colons, commas and hyphens.
func notArmor(c rune) bool { return !base64Digit(c) && !strings.ContainsRune(" \t\r\n\\:,-", c) }

func digits(s string) (n int) {
	for _, c := range s {
		if base64Digit(c) {
			n++
		}
	}
	return n
}

// The password of a URL or DSN: scheme://user:password@host, and the form of Go's
// MySQL driver, user:password@tcp(host). No rule set has it for every scheme.
var (
	mysqlNetwork  = regexp.MustCompile(`@(?:tcp[46]?|udp|unix|cloudsql)\(`)
	portAndQuery  = regexp.MustCompile(`^\d{1,5}[?#]`)
	endsAuthority = " \t\r\n/\"'<>`"
)

const (
	shortestInURL = 4   // shorter ones are placeholders and ports, in the samples at least
	longestDSN    = 256 // bytes before @tcp( that are looked at
)

func userinfo(text string) []redact.Span {
	out := urls(text)
	for _, at := range mysqlNetwork.FindAllStringIndex(text, -1) {
		from := max(0, at[0]-longestDSN)
		from += strings.LastIndexAny(text[from:at[0]], " \t\r\n\"'`/") + 1
		if colon := strings.IndexByte(text[from:at[0]], ':'); colon > 0 {
			out = append(out, password(text, from, from+colon, at[0])...)
		}
	}
	return out
}

// urls looks behind every ://. The last @ before the path ends the password,
// since people forget to escape theirs.
func urls(text string) []redact.Span {
	var out []redact.Span
	for from := 0; ; {
		n := strings.Index(text[from:], "://")
		if n < 0 {
			return out
		}
		from += n + len("://")
		authority := text[from:]
		if end := strings.IndexAny(authority, endsAuthority); end >= 0 {
			authority = authority[:end]
		}
		host, colon := strings.LastIndexByte(authority, '@'), strings.IndexAny(authority, ":@?#")
		if host > 0 && authority[colon] == ':' {
			out = append(out, password(text, from, from+colon, from+host)...)
		}
		from += len(authority)
	}
}

// password is the part behind the colon at the end of user, unless it stands for
// one.
func password(text string, user, colon, end int) []redact.Span {
	secret := text[colon+1 : end]
	if len(secret) < shortestInURL || secret == text[user:colon] || portAndQuery.MatchString(secret) {
		return nil
	}
	if len(secret) <= judged && stands(secret) {
		return nil
	}
	return []redact.Span{{Start: colon + 1, End: end}}
}

// What follows Bearer or Basic without a header's name before it, as in an error
// message or a log of a client.
var scheme = regexp.MustCompile(`(?i)\b(?:bearer|basic)[ \t]+([a-z0-9._~+/=-]{8,})`)

func schemes(text string) []redact.Span {
	var out []redact.Span
	if lower := strings.ToLower(text); !strings.Contains(lower, "bearer") && !strings.Contains(lower, "basic") {
		return nil
	}
	for _, m := range scheme.FindAllStringSubmatchIndex(text, -1) {
		if opaque(text[m[2]:m[3]]) {
			out = append(out, redact.Span{Start: m[2], End: m[3]})
		}
	}
	return out
}

// Tokens that say by a prefix of the vendor what they are, and that the rule set
// behind package redact/rules (gitleaks 8.30) does not know. The forms are the
// vendors' documented ones. A letter before them means another word.
var vendorToken = regexp.MustCompile(`(?:^|[^A-Za-z])(` + strings.Join([]string{
	`tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{8,32}-[A-Za-z0-9]{16,64}`, // Tailscale
	`cf(?:at|ut|k)_[A-Za-z0-9]{40}[0-9a-f]{8}`,                                    // Cloudflare
	`gsk_[A-Za-z0-9]{52}`,                   // Groq
	`fig[dour]_[A-Za-z0-9_-]{40,128}`,       // Figma
	`dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,64}`, // Docker
}, "|") + `)`)

var vendorPrefixes = [...]string{"tskey-", "cfat_", "cfut_", "cfk_", "gsk_", "figd_", "figo_", "figu_", "figr_", "dckr_"}

func vendors(text string) []redact.Span {
	var out []redact.Span
	if !slices.ContainsFunc(vendorPrefixes[:], func(p string) bool { return strings.Contains(text, p) }) {
		return nil
	}
	for _, m := range vendorToken.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, redact.Span{Start: m[2], End: m[3]})
	}
	return out
}
