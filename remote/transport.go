package remote

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// Transport is the client's end of a channel that its host has authenticated. Every
// method may be called from any number of goroutines.
//
//	N01 Each method hands its request to the other end and answers what came back,
//	    both unchanged: ids, argument texts, numbers and bytes included.
//	N02 A refusal of the other end is a *ProtocolError, equal to the one it made but
//	    for the cause. Any other error says that no answer came.
//	N03 Who calls is told to the other end by the channel, anew with every call, and
//	    never by anything in a request. A caller who is not, or no longer, known is
//	    refused as unauthorized before the other end is entered.
//	N04 One call of Execute is at most one delivery. Nothing is sent again, whatever
//	    happens to the connection, the request or the answer; neither by this code
//	    nor by what it stands on.
//	N05 The end of ctx ends the waiting, promptly, with an error that wraps its
//	    cause. It does not end what the other end has begun.
//	N06 An answer that was lost, cut, altered in form, or is of another protocol is
//	    an error; never an answer made up from what did arrive.
//	N07 Answers of calls that are under way together do not get mixed up.
//	N08 Messages of any size up to MaxMessageBytes pass; larger ones are an error,
//	    without any part of them being used.
//	N09 No error has credentials, arguments, results, or what another system said.
//	N10 Without a peer every method is an error.
//	N11 Nothing is cached: each call asks the other end.
//
// Package remotetest has a check for each clause and transports that break it.
// After Execute was called, its error proves nothing, not even that nothing was
// sent; a [Session] takes any but a bound refusal as an unknown outcome.
type Transport interface {
	Negotiate(context.Context, NegotiateRequest) (NegotiateResponse, error)
	Execute(context.Context, ExecuteRequest) (Receipt, error)
	GetReceipt(context.Context, ReceiptRequest) (Receipt, error)
	Cancel(context.Context, CancelRequest) (CancelResponse, error)
	ReadEvidence(context.Context, EvidenceRequest) (EvidenceResponse, error)
}

// Handler is the other end of a transport: the five methods with the caller that
// the channel authenticated. [Server] is one. Its errors are *ProtocolError.
type Handler interface {
	Negotiate(context.Context, Caller, NegotiateRequest) (NegotiateResponse, error)
	Execute(context.Context, Caller, ExecuteRequest) (Receipt, error)
	GetReceipt(context.Context, Caller, ReceiptRequest) (Receipt, error)
	Cancel(context.Context, Caller, CancelRequest) (CancelResponse, error)
	ReadEvidence(context.Context, Caller, EvidenceRequest) (EvidenceResponse, error)
}

// Caller is the trusted host context of one call: made by the serving host from its
// authenticated channel, never from a message. The zero value is nobody.
type Caller struct {
	Scope     canonical.Scope     // to whom what it does belongs, in the server's store
	Principal canonical.Principal // kept in every record
}

// valid reports whether c is somebody.
func (c Caller) valid() bool { return c.Scope.Validate() == nil && c.Principal.Validate() == nil }

// Operation is what an [Authorize] function is asked about. It is made anew for
// every method and every chunk. Tool, effect and arguments are there for execute;
// for the others what the server knows of the request, where it knows it.
type Operation struct {
	Method    Method
	Session   string
	RequestID string
	Tool      string
	Effect    canonical.Effect // as registered here
	Arguments canonical.Body   // a copy
	Offset    int64            // of a chunk
}

// Authorize decides for the host. An error or a panic is a no; its text stays here.
type Authorize func(context.Context, Caller, Operation) error
