// Package fakes has doubles for tests of code that stands on this module: a
// store in memory, a store that fails on cue, a tool and a projector that follow
// a script, and a clock. No Redis, no network, nothing that sleeps.
//
//	double      stands for              what a test gets from it
//	Store       canonical.Store         every clause of the contract, in memory, on a Clock
//	Faulty      canonical.Store         a failure at a chosen call of a chosen method
//	Tool        boundary.Executor       scripted output, errors, panics, hangs; counts entries
//	Projector   projector.Projector     scripted answers, what it was given
//	Clock       func() time.Time        time that moves when told
//
// # Guarantees
//
// Store is correct, not a sketch: it passes the suite of canonical/storetest
// like any other store, with the race detector, and answers a walk of thousands
// of random messages as Redis does. So what a test proves on it about budgets,
// duplicates, deadlines and unknown effects holds for the real one.
//
// Everything is safe for concurrent use and deterministic: no double draws a
// random number or reads the machine's clock.
//
// # Not guaranteed
//
// Nothing is kept beyond the process. A Store takes as much memory as its runs
// hold until each is touched after its life; it is not meant for production.
//
// # Use
//
//	clock := fakes.NewClock()
//	store := fakes.NewStore(clock)
//	faulty := fakes.NewFaulty(store, "marker-7c1f")
//	faulty.Script(fakes.MethodComplete, 1, fakes.FailAfter) // stored, and the answer lost
//	b, err := boundary.New(boundary.Config{Store: faulty, Now: clock.Now, ...})
//	...
//	clock.Advance(15 * time.Minute) // past the run's deadline
//	if n := faulty.Calls(fakes.MethodComplete); n != 2 { ... }
package fakes
