// Package bounds is what the ready projectors share: reading a typed document
// strictly, and keeping coverage, facts and single lines inside their limits.
//
//	raw --Object--> members one by one, or a *Fault that names the member
//	coverage --Coverage--> the longest lines that leave room for facts
//	facts --Facts--> as many as fit, then how many did not
//	line --Clip, Quote--> cut at a rune, with the size of the whole
//
// Every cut is stated: by a mark, by a count, or by an error. Nothing here
// judges; status and absence are decided by the projectors.
package bounds
