// Package measure takes times and compares them: what a call costs its caller, the
// client's processor and the server's, and how two ways of doing the same compare.
//
// # Method
//
// [Take] lets callers share a number of calls and measures them as one [Sample].
// [Rounds] takes one sample of every subject in every round, in an order drawn anew
// for each round, after one round that is thrown away. A [Ratio] is the median over
// rounds of the quotient within the same round, with the quartiles as its spread. So
// what changes slowly on the machine, clock and neighbours, falls on both sides of
// a quotient alike; what changes within a round is seen as spread.
//
// # Not guaranteed
//
// Allocations and processor time are those of the process: nothing else may run in
// it meanwhile. A server inside the process, an embedded one, counts as client.
//
// # Use
//
//	rounds, err := measure.Rounds(ctx, measure.Plan{Rounds: 5}, floor, store)
//	fmt.Println(rounds.Ratio(1, 0)) // how many times as long store takes as floor
package measure
