// Package section has the benchmarks of Harness, each of which makes one table.
//
//	section    what is compared                                         with
//	calls      Store alone and whole Invoke, by size and callers        two plain round trips
//	cpu        what a call costs the server's one thread, pipelined     the same bytes by SET
//	batch      k reads of one message through Toolset.Dispatch          the same in two pipelines
//	line       small calls beside constant completions of 4 MiB         small calls alone
//	progress   a report on 1,000 records                                MGET of as many bytes
//	scale      the last thousand calls of a long run in a full store    the first thousand
//	cluster    many runs on three primaries                             one node
//
// # Words
//
// The floor is what Redis and the client cost without this library: SET of the
// request with an expiry, then SET with XX and KEEPTTL of request, raw and agent
// result together, by a client with the options of redisstore.Dial. Store is Admit
// and Complete with messages that were made before. Invoke is the whole boundary
// with a tool that writes its result at once and a projector that takes the
// beginning of it.
//
// A call is a read with a request of 1 KiB, raw of the size named, and an agent
// result of the same size, 2 KiB at most.
//
// # Guarantees
//
// Every comparison is made within one run of the program, interleaved: see package
// measure. Every call is checked to have succeeded; a section that counts (trips,
// bytes, slots) takes the count from the server.
//
// # Not guaranteed
//
// Times of two runs of the program are not comparable, much less those of two
// machines. No time is a limit anywhere: nothing here fails for being slow.
package section
