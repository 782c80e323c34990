// Package vectors hands the imported input sets under testdata/ to any test of
// this repository, from whatever package directory the test runs in.
//
//	set               loader          one element
//	json-test-suite   JSONTestSuite   a JSON text a parser must take, must refuse, or may judge alone
//	utf8-tests        UTF8Tests       a byte sequence and whether it is UTF-8
//	naughty-strings   NaughtyStrings  a string that has broken somebody's program before
//
// # Guarantees
//
// A loader returns every file of its set or fails the test: a set with no
// files, or with another number of elements than its expected.json counts, is
// a failure and never a shorter loop. Elements come in a stable order. The
// bytes are those of the file.
//
// # Not guaranteed
//
// The text of the sets is hostile on purpose and is never to be interpreted,
// shown to a model or run.
//
// # Use
//
//	func FuzzRequest(f *testing.F) {
//		for _, v := range vectors.JSONTestSuite(f) {
//			f.Add(v.Bytes)
//		}
//		f.Fuzz(func(t *testing.T, b []byte) { ... })
//	}
//
// Where each set comes from, and under which licence, is written in the
// SOURCE.md and LICENSE beside it.
package vectors
