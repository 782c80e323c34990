// Package redact makes the view of a value that may be shown, stored or sent on:
// the same bytes with the credentials replaced by [REDACTED].
//
//	value --names, rules--> --host's policy--> --names, rules again--> view
//	                              |
//	                              error, panic, deadline, broken JSON: no view at all
//
// # What is replaced
//
//	member of an object      its whole value, when the name is a credential's
//	{"name":N,"value":V}     V, when N is; also key or header, and values
//	table                    the cells of such columns: {"columns":["id","password"],"rows":[[1,"x"]]}, rows/1 of this module
//	strings and text         what a [Finder] finds; none unless asked for, see below
//	JSON in a string         as if it stood alone, ten levels deep
//
// A name is a credential's when its folded form (small letters, without - _ . and
// blanks) is one of authorization, proxyauthorization, cookie, setcookie, bearer,
// token, access-, refresh-, id-, auth-, xauth-, session-, awssession-, bearer-, csrf-, xcsrf-, xxsrf- and
// xamzsecuritytoken, credential(s), or ends with secret, password, passwd,
// passphrase, apikey, secretkey, privatekey or secretaccesskey. Never because it
// contains such a word: max_tokens, nextPageToken, secretary, primaryKey stay. A
// host adds names in [Keys] and cannot take any away. null, true, false and
// empty values stay: they hold nothing.
//
// # What is kept
//
// All else, byte for byte: digits of numbers, white space, order of members,
// repeated members, escapes, also inside JSON in strings. JSON stays JSON. A value
// without credentials is its own view. Whatever some parser would take as JSON is
// read as JSON (repeated members, broken UTF-8, a byte order mark, several values
// one after the other); in other text each line that is JSON is read as JSON.
//
// A replaced number becomes a string. Two member names that become equal because
// a rule found something in them get #2, #3, …
//
// # Guarantees
//
//	pure           the same bytes give the same view; redacting a view changes nothing (both as far as the policy does)
//	detached       value and view share no memory; the value is only read
//	closed         an error means no view: nothing is cut, nothing is shown half
//	bounded        bytes, levels, tables in tables, replacements, passes and the policy's time; above a limit is an error
//	quiet          errors have numbers and fixed words, never a part of the value, nor what the policy said
//	recognisable   [Redactor.Fingerprint] changes with names, rules, limits and [Policy] version
//
// # Not guaranteed
//
// This is no detector of all secrets. Names and rules find what they know; a
// password in prose, a random string without a prefix, an image, base64 of a
// document are kept. JSON that was cut or has comments is text, in which names are
// not seen: give it the rules of package text, which know assignments. A policy
// that ignores its deadline cannot be ended; it is left behind, eight at most,
// and then no value is shown until one returns. A view is not encrypted, and what was
// replaced in it still stands in the value itself.
//
// # Use
//
//	keys := redact.Keys{Exact: []string{"pin"}}
//	r, err := redact.New(redact.Config{Keys: keys, Rules: []redact.Finder{text.New(keys)}})
//	...
//	view, err := r.Redact(ctx, redact.Result, raw)
//	if err != nil {
//		return err // withheld
//	}
//	use(view.Text, r.Fingerprint())
//
// Package redact/text has rules for text. Module redact/rules adds those of
// gitleaks for the tokens of vendors. How much all of them find is counted there.
//
// Sources: E90 to E94 of docs/scenarios.md; RFC 8259.
package redact
