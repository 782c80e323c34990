// Package text finds credentials in text: log lines, error messages, configuration,
// JSON that was cut. It is a redact.Finder with rules for what no rule set
// of others has; tokens known by a vendor's prefix are the business of module
// redact/rules, which is used beside it.
//
//	rule                 finds                                                 why it is here
//	private key          a PEM or OpenPGP block, also one without its end      rule sets want the end, results are cut
//	URL, DSN             the password of scheme://user:password@host and       rule sets know single schemes
//	                     user:password@tcp(host)
//	Bearer, Basic        what follows, when it is no word                      rule sets want curl before it
//	header               Authorization, Cookie: the rest of the line           the same
//	assignment           the value behind a credential's name and = : := =>    rule sets look for parts of names and for noise
//	flag                 --password VALUE                                      the same
//	environment          NAME_TOKEN=, _PAT=, _ACCESS_KEY= with a token         names of members may not end so, see redact
//	vendor's prefix      Tailscale, Cloudflare, Groq, Figma, Docker            gitleaks 8.30 lacks them
//
// Names are those of package redact, whole or by their ending. What stands for a
// value stays: ${X}, {{x}}, <x>, $(X), xxxx, "password", "required". In prose an
// unquoted value behind a colon is one when it has a digit, a sign or a capital
// inside, or is all that the line has left.
//
// # How much is found
//
// redact/testdata/fake-secrets has 58 planted values in 31 texts and 16 clean
// texts, of secretlint, gitleaks and detect-secrets. Tests pin these counts by
// kind, in the testdata of this package and of redact/rules.
//
//	                             found   missed   clean texts changed
//	names alone                      1       57   1
//	with this package               40       18   1
//	with redact/rules alone         18       40   2
//	with both                       53        5   2
//
// Missed with both: an AWS account number and two home directories, which are no
// credentials; a Databricks token in capitals, which the vendor does not make; a
// webhook address of Slack made of X. Changed: "private_key":"DUMMY", a name that
// is always hidden, and a Stripe key that is one letter short of a real one. The five
// vendors' prefixes were added after a first count, so their six kinds say nothing
// about unknown vendors.
//
// On 1.5 MB of a recorded coding session three of 939 lines change without need
// (hasApiKey = restoredModel ? …), on 0.8 MB of Kafka logs, 1.4 MB of articles
// and 1.5 MB of airline conversations none.
//
// # Not guaranteed
//
// Passwords shorter than four bytes in a URL, or with a slash in them; values of
// several lines; words used as passwords in prose; signatures in links
// (X-Amz-Signature, sig); anything that looks like nothing.
package text
