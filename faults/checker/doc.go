// Package checker recounts what injections did: from the report, from the file
// that the tools appended to, and from the contents of Redis through a plain
// client.
//
// It shares no code with those who inject faults, nor with the library: it has
// its own reader of the report, and knows keys and fields from what
// redisstore/doc.go says of them. What a runner believes is compared with what
// is there; a difference fails the report.
//
//	report  ──┐
//	entries ──┼─> Audit, while the server still has the contents ─> verdict of each call
//	Redis   ──┘                                                      │
//	                                      Finish, at the very end ───┴─> Result: the table
//
// The words of the table are defined in the comment of package faults; judge.go
// has one function for each.
//
// # Guarantees
//
// A line that it cannot read, a line that no audit covered, an entry of no call
// and a key of no run are failures, never skipped. A report without any call is
// one too.
package checker
