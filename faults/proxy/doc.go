// Package proxy stands between a client and a Redis server and spoils exactly
// the message it was told to spoil.
//
//	client ──> up:   reads whole commands, a MULTI to its EXEC at once ──> server
//	client <── down: reads whole replies, knows which command each is of <── server
//
// A proxy that only sees bytes can cut a connection at a time. It cannot lose
// one reply and no other, since it does not know where a reply begins or which
// command it answers. This one reads enough of the protocol (RESP2 and RESP3) to
// frame every command and reply, and knows scripts by the name in the first line
// of their text, "-- admit creates ...", also when only their digest passes.
//
// A [Fault] names a script, a part of its message, a place, and what happens
// there:
//
//	place      Cut                      Slow                     HalfOpen
//	Before     request lost             request late             request swallowed, no answer
//	InRequest  cut inside a bulk        one half late            one half sent, no answer
//	After      reply lost               reply late               done, no answer
//	InReply    cut inside a bulk        one half late            one half answered
//
// In a transaction the request's parts are the payload (HSET), the script and
// EXEC; the reply is that of EXEC. Do runs a function at the place, for faults of
// the server itself, and Pass lets the message through afterwards.
//
// # Guarantees
//
// A fault strikes the Nth matching message and as many after it as it was told,
// counted over all connections. What was delayed still reaches the server when
// the client has gone, as it would on a network. After a reply was lost the
// server has done what it was asked. [Proxy.Quiet] returns once nothing is under
// way any more, and [Proxy.Close] once every goroutine has ended.
//
// # Not guaranteed
//
// Inline commands, subscriptions and client-side caching are passed on and not
// understood. A script whose text never passed is not known by its digest.
//
// # Use
//
//	p, err := proxy.Start(serverAddr, proxy.NewScripts())
//	defer p.Close()
//	trap := p.Arm(proxy.Fault{Script: "complete", Place: proxy.After, Kind: proxy.Cut})
//	... // a call through redis://p.Addr()
//	if trap.Fired() != 1 { ... }
package proxy
