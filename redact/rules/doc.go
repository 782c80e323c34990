// Package rules finds the tokens of some two hundred vendors in text, by the rule
// set of gitleaks, which its authors keep up to date. It is a redact.Finder and a
// module of its own, since that rule set comes with a large graph of modules.
//
//	text --keywords (Aho-Corasick)--> rules that may match --RE2--> spans --entropy, allow lists--> findings
//
// # What is taken from gitleaks and what is not
//
//	patterns, keywords, groups, entropy, allow lists    as the module in go.mod has them; a newer version is a line there
//	entropy and allow lists                             not asked when the secret itself bears the rule's keyword (AKIA, glpat-,
//	                                                    sk_live): they keep reports short, and a redactor loses nothing by
//	                                                    hiding an example
//	keywords                                            have to stand within 256 bytes of the finding, not anywhere in the
//	                                                    text: a result may mention a vendor and have ten thousand digests
//	generic-api-key                                     left out: it looks for "key", "auth" and the like inside names.
//	                                                    Package redact/text has assignments by whole names
//	rules for certain file names                        left out: a text has no file name
//	findings that end inside a word                     reach to the end of the word
//
// # Guarantees
//
// The same text gives the same spans in the same order. Nothing is kept of a text.
// Rules are safe for concurrent use, and never change after New. Patterns are RE2,
// so the time grows with the length of the text times the rules whose keyword is
// in it. Nothing of a text is logged, and no comment in a text switches a rule off.
//
// # Not guaranteed
//
// That every token is found: see the counts in package redact/text. Rules for
// vendors name their vendor or know a prefix; a random string without either is
// a random string.
//
// # Use
//
//	vendors, err := rules.New()
//	...
//	r, err := redact.New(redact.Config{Rules: []redact.Finder{text.New(keys), vendors}, Keys: keys})
package rules
