// Package remotetest checks any remote.Transport against its contract, and has a
// transport inside one process for tests.
//
// [Run] connects a transport to a scripted other end and runs one subtest for each
// clause N01 to N11 of the contract. To write a transport (gRPC, MCP, a message
// queue):
//
//  1. Serve a remote.Handler: take the caller from what your channel proves, decode
//     with remote.Decode, call the method of the same name, encode with remote.Encode.
//     Send a *remote.ProtocolError as a message of its own kind, any other error as
//     nothing.
//  2. Call it: encode, send once, decode. Switch off every retry below you for
//     execute (gRPC: no retry policy and WaitForReady off; queues: at most once).
//  3. Give Run a function that connects your client to the handler it is given, and
//     fill in [Peer].
//
// The package's own tests show for each clause a transport that breaks it and is
// caught.
package remotetest
