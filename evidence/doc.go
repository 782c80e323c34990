// Package evidence is the vocabulary in which a tool result is judged: what was
// found, where was looked, and what may be said about it afterwards.
//
//	counted items > 0                           EVIDENCE_FOUND
//	counted items = 0 and the search ended      NO_EVIDENCE, with a Coverage
//	everything else                             an error, never absence
//
// The costly mistake is to read an outage as "nothing there". Therefore a
// negative observation is valid only together with a [Coverage] that says where
// was looked, for what if for anything in particular, and that the search ran to
// its end. A tool that
// answers with its own error object has failed; it has observed nothing.
//
// A [Fact] says what a tool returned, not that it is true. Values are text, so
// that numbers keep the digits the tool wrote: a float64 would lose them above
// 2^53. Facts are bounded, one line each, free of control characters; a line
// feed inside an id could otherwise forge a line of its own in a prompt.
//
// A [Reference] names a stored result: an identifier with digests, never a
// permission.
//
// The package is a leaf: projectors written by users need these types and
// nothing of the record, the store or the boundary. Everything here is a plain
// value, safe to copy; nothing does I/O.
//
// Sources: rows C16 to C19, A18 to A21 of docs/sources.md.
package evidence
