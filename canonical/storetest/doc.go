// Package storetest is the suite that every canonical.Store passes: the clauses
// K01 to K76 of the contract as subtests, a random walk that compares stores
// message by message, and benchmarks.
//
//	file          clauses
//	runs.go       K01 to K06, K08   opening, joining, closing, lost ledgers
//	expiry.go     K07, K40, K71     lives that are chosen once
//	admit.go      K10 to K19        admission, own claims, duplicates
//	order.go      K16, K17          which refusal is told, and that none leaves a trace
//	budgets.go    K20 to K22        budgets, capacity, barrier
//	race.go       K23, K38, K52     one winner
//	bytes.go      K24, K36          bodies
//	complete.go   K30 to K39        saving and ending
//	effects.go    K50 to K52, K56   sweeping and what it meets
//	settle.go     K53 to K55, K65   settling and resolving
//	read.go       K25, K60 to K64   reading, and what must not be read
//	part.go       K66, K67          evidence by its id, raw results in parts
//	listing.go    K68               the runs of a scope, and what is kept of a scope
//	remove.go     K70               deleting
//	quota.go      K72 to K76        what the runs of a scope may hold together
//	walk*.go      P27               thousands of random messages, compared with a model
//	bench.go                        what a call and a read cost
//
// # Guarantees
//
// Each clause has at least one subtest, named by its number and by the scenarios
// that it plays (K13_T23_T26_T27_...). A failure quotes the clause. Subtests run
// in parallel, each on a store of its own, and never look at the machine's
// clock: time is the store's and moves by minutes and hours, so that the
// seconds that pass on a real server decide nothing.
//
// The suite is tested itself: for each clause there are stores that break it, and
// the clause must reject them; a correct store of an unusual build, which the
// suite must accept; and stores that only a walk can find out.
//
// # Not guaranteed
//
// What a store cannot show is not checked. A [Harness] declares what its store
// can do; a subtest that needs more is skipped and says so.
//
// # Use
//
//	func mine(t testing.TB) storetest.Harness {
//		clock := fakes.NewClock()
//		return storetest.Harness{Store: fakes.NewStore(clock), Now: clock.Now, Advance: clock.Advance}
//	}
//
//	func TestConformance(t *testing.T) {
//		t.Run("mine", func(t *testing.T) { storetest.Run(t, mine) })
//	}
//
//	func TestWalk(t *testing.T) {
//		storetest.Walk(t, storetest.WalkOptions{Seed: 1, Ops: 20_000}, storetest.NamedHarness{Name: "mine", Open: mine})
//	}
//
// The name of the outer subtest is the store's in reports: fake, embedded, redis.
package storetest
