// Package projectortest checks a projector against the contract of package
// projector, from examples that its author gives.
//
//	check         what is tried                                   what must hold
//	verdict       each case                                       its status, or an error where one is wanted
//	pure          each case again and again, at once as well      the same bytes, coverage and facts
//	input         each case                                       raw and request untouched
//	bounded       each case under smaller and smaller limits      inside them, cuts say so
//	cancellation  each case under a context that is over          returns; an answer is the full answer
//	hostile       cut, flipped, random, deep, huge, no UTF-8      no panic, no wait, no breach
//	absence       empty, prose, error objects, cut streams        never "nothing found"
//	text          all answers seen                                no control characters
//	digits        each case                                       long numbers are those of the raw
//
// An error is a right answer to hostile input; a projection that breaks the
// contract is not. Where raw data is a JSON object in some case, error objects
// ({"error":…}, {"status":"error"}) must be refused as well.
//
// The suite shows breaches; it proves nothing about I/O or memory, and it can
// only try what follows from the cases. Give at least one that is found, one
// absence if your projector knows any, one tool failure, and one with numbers
// above 2^53.
//
//	func TestProjector(t *testing.T) {
//		projectortest.Run(t, hits.New(hits.Options{}),
//			projectortest.Case{Name: "two", Raw: two, Want: evidence.Found},
//			projectortest.Case{Name: "none", Raw: none, Want: evidence.None},
//			projectortest.Case{Name: "outage", Raw: outage, Want: evidence.Failed},
//		)
//	}
//
// Run it with -race: cases are projected in parallel.
package projectortest
