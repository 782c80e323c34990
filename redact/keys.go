package redact

import (
	"slices"
	"strings"
	"unicode"
)

// exactKeys are the folded names that hold a credential when they are the whole
// name. "token" is here and not among the endings: nextPageToken and tokenCount
// are no credentials. Plain "key" is nowhere: most keys are names.
var exactKeys = [...]string{
	"authorization", "proxyauthorization", "cookie", "setcookie", "apikey", "xapikey", "token", "accesstoken",
	"refreshtoken", "idtoken", "authtoken", "sessiontoken", "bearertoken", "csrftoken", "bearer", "password",
	"passwd", "passphrase", "secret", "clientsecret", "secretkey", "privatekey", "credential", "credentials",
	"xauthtoken", "xamzsecuritytoken", "xcsrftoken", "xxsrftoken", "awssessiontoken", "secretaccesskey",
}

// endings are what a folded name may end with: DB_PASSWORD, stripeSecretKey.
var endings = [...]string{
	"secret", "password", "apikey", "passwd", "passphrase", "secretkey", "privatekey", "secretaccesskey",
}

// Keys says which names hold a credential. The zero value knows the built-in
// names, which cannot be taken away; see the package comment for the list.
type Keys struct {
	// Exact and Endings are a host's own names. They are folded like the names
	// they are compared with.
	Exact, Endings []string
}

// Match reports whether a member, header, column or variable of this name holds
// a credential: its folded form is one of the exact names, or ends with one of
// the endings. What merely contains such a word does not: max_tokens,
// secretary.
func (k Keys) Match(name string) bool {
	f := fold(name)
	if slices.Contains(exactKeys[:], f) {
		return true
	}
	for _, e := range endings {
		if strings.HasSuffix(f, e) {
			return true
		}
	}
	return slices.ContainsFunc(k.Exact, func(own string) bool { return f == fold(own) }) ||
		slices.ContainsFunc(k.Endings, func(own string) bool { return strings.HasSuffix(f, fold(own)) })
}

// fold takes case and the separators - _ . and blank out of a name. The two
// letters outside ASCII that Unicode folds into it (long s, the sign for Kelvin)
// are folded too, so that they cannot hide a name.
func fold(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '-', r == '_', r == '.', unicode.IsSpace(r):
			return -1
		case r == '\u017f':
			return 's'
		}
		return unicode.ToLower(r)
	}, name)
}
