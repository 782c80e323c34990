// Package httptransport carries harness.tool-outcomes/1 over HTTP: [Handler] serves,
// [Client] calls.
//
//	POST <base>/negotiate      POST <base>/execute      POST <base>/get_receipt
//	POST <base>/cancel         POST <base>/read_evidence
//	GET  <base>/package        the encoded package, where the server gives one
//
// Bodies are the messages of package remote, as application/json. A refusal is
// application/problem+json (RFC 9457) with the members of remote.ProtocolError; it
// has constant texts and ids that the caller sent. Over TLS both ends speak HTTP/2
// where they can.
//
// # Guarantees
//
//   - Who calls is decided by the host's function, [Identify], for each request,
//     from what the connection and its headers prove: a bearer token, a client
//     certificate, or anything else. Without an answer nothing is entered.
//   - One call of Execute is at most one request on the wire. net/http sends some
//     requests again by itself: those that it can rewind, and those that it holds to
//     be idempotent. These are neither, since their body can be read once and their
//     method is POST without a key; redirects are not followed.
//   - Bodies are bounded while they are read, and times are: headers 10 s, a whole
//     request 30 s, an answer the wait that was asked for and [ClientConfig].Margin.
//   - No error text has an address, a header, a body, or what a server or a proxy in
//     between said. An answer that is no message of the protocol is no answer.
//   - No proxy, credential or certificate is taken from the environment.
//
// # Not guaranteed
//
// A connection that breaks says nothing about the call. That is what receipts are
// for. Plain http is refused unless it is allowed by name.
//
// # Use
//
//	h, err := httptransport.NewHandler(httptransport.HandlerConfig{Handler: server, Package: server.Package(),
//		Identify: httptransport.Bearer(callerOfToken)})
//	s := httptransport.NewServer(h)
//	go s.ServeTLS(listener, certFile, keyFile)
//
//	t, err := httptransport.NewClient(httptransport.ClientConfig{URL: "https://tools.example/outcomes", Token: token})
//	session, err := remote.NewSession(ctx, remote.SessionConfig{Transport: t, ...})
package httptransport
