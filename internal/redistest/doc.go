// Package redistest starts the Redis a test needs, on loopback, for as long as
// the test runs.
//
//	call            what it is                          time            use it for
//	Mini(t)         miniredis, in this process          moves when told rules about expiry and TIME
//	Shared(t)       an empty database of a redis-server real            most tests on a real server
//	Server(t, ...)  a redis-server of its own           real            stopping, pausing, maxmemory, INFO, SCRIPT FLUSH
//	Replicated(...) a primary and its replicas          real            WAIT, read-only replicas; with Sentinel, promotion
//	SharedCluster   a prefix on a cluster of 3 + 3      real            whether keys and scripts keep to one slot
//	Cluster(t, ...) a cluster of its own                real            failover, slots that move
//
// # Guarantees
//
// Nothing is shared between two tests that they could see: a fresh miniredis,
// a fresh process, or a flushed database that no other test holds. Servers bind
// 127.0.0.1 on a free port, keep protected mode, keep no data on disk unless
// the arguments ask for it, and work in a private directory that is removed.
// Server and Shared return only once the very process they started answers;
// another server that took the port in between is never mistaken for it.
// Replicated and Cluster return once every replica follows its primary and every
// node says that all is well: after 0.1 and 2 to 3 seconds.
//
// A process is ended by the handle it was started with, when its test ends. On
// Linux the kernel also ends it when the test binary dies, however it dies.
//
// Where no redis-server is on the PATH, all but Mini skip the test and say so in
// capitals. With HARNESS_REQUIRE_REDIS=1 they fail it instead, so that a
// build that means to test on Redis cannot pass without it.
//
// # Not guaranteed
//
// Shared gives a database, not a server: SCRIPT FLUSH, CONFIG SET, INFO and
// memory limits are seen by every test of the same binary; SharedCluster gives a
// prefix, and nothing hinders a test from looking beside it. Passwords have to be
// set once servers run, since this package asks them without. Outside Linux a test
// binary that is killed leaves its redis-server behind.
//
// # Use
//
//	func TestAdmit(t *testing.T) {
//		t.Run("redis", func(t *testing.T) {
//			db := redistest.Shared(t)
//			store := open(t, db.URL())
//			...
//		})
//		t.Run("embedded", func(t *testing.T) {
//			mini := redistest.Mini(t)
//			store := open(t, mini.URL())
//			mini.Advance(24 * time.Hour)
//			...
//		})
//	}
package redistest
