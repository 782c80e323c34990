// Package embedded is a whole store inside the process: [redisstore.Store] on an
// in-memory server written in Go, whose time can be moved. For tests, for
// demonstrations, and for programs that need no record after they end.
//
// # Time
//
//	Start()                     runs as real time does
//	  after Advance(d)          runs on, d ahead, exact to a millisecond
//	StartWith(Options{Frozen})  stands still but for Advance
//
// Advance moves TIME, deadlines and every expiry in one step, so that a test of
// a 24 hour life takes no longer than any other.
//
// # Guarantees
//
// The scripts are those that run on Redis, and the conformance suite holds on
// both. Two servers share nothing.
//
// # Not guaranteed
//
// It is not Redis: no persistence, no memory limit, no replicas, and a script
// takes several times as long. Do not measure on it. It listens on loopback
// without a password, as any process of this machine can see.
//
// # Use
//
//	server, err := embedded.Start()
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	b, err := boundary.New(boundary.Config{Store: server.Store(), ...})
//	...
//	server.Advance(24 * time.Hour) // every record of the run has expired now
package embedded
