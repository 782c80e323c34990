package remote

import "time"

// Protocol is the one protocol of this package. Another word in its place, the
// older literals of other systems included, is refused by both ends.
const Protocol = "harness.tool-outcomes/1"

// Schemas of what is kept: the package that a server hands out, what a session
// keeps of an answer, what a server keeps of a late result, and checkpoints.
const (
	PackageSchema     = "harness.outcome-package/1"
	ObservationSchema = "harness.remote-observation/1"
	SourceSchema      = "harness.remote-source/1"
	CheckpointSchema  = "harness.remote-checkpoint/1"
)

// Limits of the protocol, in bytes unless said otherwise. Both ends check them.
const (
	MaxName            = 256        // ids of requests, packages, sessions, epochs
	MaxCode            = 128        // codes of errors and outcomes
	MaxMessage         = 512        // texts of errors
	MaxTools           = 512        // tools of a package
	MaxPackage         = 10_000_000 // an encoded package
	MaxArguments       = 1_000_000  // arguments of a call; a server's boundary may allow less
	DefaultInlineBytes = 64 << 10   // results up to this size travel inside the receipt
	MaxInlineBytes     = 1_000_000  // the most that may be configured
	DefaultChunkBytes  = 64_000     // one part of a referenced result
	MaxChunkBytes      = 1_000_000  // the most that may be configured
	MaxRequests        = 1000       // distinct requests that a server keeps apart
	MaxInvocations     = 1000       // invocations that a session keeps
	MaxWait            = time.Minute
	maxMessageBytes    = 2_500_000 // an encoded message: arguments or inline bytes, escaped, and the rest
)

// ReferencesOnly in place of a number of inline bytes keeps every result out of
// the receipts. On the wire it is 0.
const ReferencesOnly = -1

// Accounting is what every receipt says of cost: whatever the remote side spends
// is its own and unknown here; no budget crosses the wire.
const Accounting = "external_unknown"

// Method names one of the five methods.
type Method string

// The methods.
const (
	MethodNegotiate    Method = "negotiate"
	MethodExecute      Method = "execute"
	MethodGetReceipt   Method = "get_receipt"
	MethodCancel       Method = "cancel"
	MethodReadEvidence Method = "read_evidence"
)

// Methods lists them in the order of the contract.
func Methods() []Method {
	return []Method{MethodNegotiate, MethodExecute, MethodGetReceipt, MethodCancel, MethodReadEvidence}
}

// ReceiptState is what the remote side knows of a request.
type ReceiptState string

// The states of a receipt.
const (
	Running         ReceiptState = "running"          // admitted, not ended
	Settled         ReceiptState = "settled"          // ended and known; the only final state
	SettledUnstored ReceiptState = "settled_unstored" // ended and known, but not in the source's store
	Unsettled       ReceiptState = "unknown"          // nobody there knows
)

// Executions and verdicts as they stand on the wire.
const (
	executionNotStarted = "not_started"
	executionCompleted  = "completed"
	executionUnknown    = "unknown"
	appliedYes          = "yes"
	appliedNo           = "no"
)

// Admitted says, in a refusal, whether the request can have been admitted.
const (
	AdmittedNo      = "no"      // it was not, and never will be in this epoch
	AdmittedUnknown = "unknown" // the refusal says nothing about that
)
