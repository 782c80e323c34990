// Package text is the projector for results of no agreed form: any JSON, any
// text. It shows as much as fits, cut so that it stays valid, and says what was
// left out.
//
//	raw                                        what the model gets
//	JSON that fits                             the same, without white space between tokens
//	JSON that does not                         shorter arrays and objects, clipped strings, less depth
//	text                                       the text; cut at a line or a rune, then [omitted: … bytes, … lines]
//
// Cut JSON is JSON. What is missing is stated where it is missing:
//
//	{"items":[1,2,3],"returned":3,"omitted":97}    an array at the top
//	[1,2,3,{"…omitted":97}]                        an array inside
//	{"a":1,"…omitted":5}                           an object
//	"the beginning…[5120 bytes]"                   a string
//
// Numbers keep their digits, or become a clipped string. Control and invisible
// format characters appear as escapes in JSON and are dropped from text. Bytes
// that are no UTF-8 become U+FFFD.
//
// # What counts as what
//
// Only what can be counted is judged: an array, or an object whose array or count
// is named in [Options].
//
//	counted, at least one                              EVIDENCE_FOUND
//	counted, none, and Options.Coverage carries it     NO_EVIDENCE
//	counted, none, no coverage                         error
//	other JSON or text with something in it            EVIDENCE_FOUND: this was returned
//	null, "", {}, an object of nothing but such;       error
//	an error object; JSON that was cut; no bytes
//
// Prose, null and wrappers of an unknown shape are never read as "nothing found":
// "0 results" may be what a tool says when its backend is down. Name the array of
// a wrapper in Options.Items to have it counted; then anything else is an error,
// since the tool has another shape than its author thinks.
//
// An error object is a failure: a member "error" or "errors" with something in
// it, "status" error or failed, "success" or "ok" false, "isError" true. It is
// one too when it is quoted in a JSON string or something follows it. Set
// Options.Errors where your tool's words are others, or where such words are its
// ordinary data. Prose that says "Error:" is text unless Options.ErrorPrefixes
// names that beginning.
//
// Facts state the count, or the members of an object that are plain values, or
// the beginning of the text, quoted.
//
// Not promised: that a wrapper such as {"total":0,"hits":[]} is recognised
// without being named. It is shown as it is and counts as found, a document that
// the tool returned. Nor that an error written in some other notation is one.
//
// Sources: rows C30, A19 to A21, A29 of docs/sources.md, T118 and T121 of
// docs/scenarios.md; RFC 8259, RFC 6901.
package text
