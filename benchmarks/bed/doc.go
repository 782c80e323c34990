// Package bed starts the servers that benchmarks run against and asks them what
// they did: a redis-server or a cluster on loopback, as tests of the store start
// them, and what INFO knows of their work.
//
// # Guarantees
//
// A server is empty, on a free port of 127.0.0.1, without snapshots, and ends with
// Close; on Linux it also ends with this process. [Client] has the options of the
// client that redisstore.Dial makes, which a test compares, so that a floor that is
// measured through it pays what the store pays for its client.
//
// # Not guaranteed
//
// Server and client share the machine. On few cores they compete, which a table of
// both cannot show.
//
// # Use
//
//	server, err := bed.Start()
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	before, err := server.Use(ctx)
//	...
//	after, err := server.Use(ctx)
//	spent := after.Sub(before)
package bed
