// Package unknowneffect shows a write whose outcome nobody knows: the run stops,
// a person looks at the other system, and says what became of it.
package unknowneffect
