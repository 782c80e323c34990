package canonical

import "context"

// Store keeps runs and the records of their calls. Every method decides and
// writes atomically, in the store's own time, and may be called from any number
// of goroutines and processes.
//
// Common to all methods:
//
//   - A "no" is a [*RefusedError] around one of the package's sentinels. Any
//     other error is trouble with the store or the caller's context, keeps its
//     cause, and leaves open whether a write happened.
//   - Every write may be delivered twice, at any distance, and means what it
//     meant once. That is what makes retries safe.
//   - Arguments are not retained, results are not shared: a caller may change
//     its bytes afterwards, and what it got.
//   - Malformed arguments are refused before anything is sent, with a
//     [*NameError], [*LimitsError] or the lifecycle's error.
//
// The clauses below are the contract. Package storetest has a subtest for each,
// named by its number, and a broken store that this clause rejects.
//
// What follows from them and is easily overlooked: a closed run stays closed when
// it is found to be damaged; the life of a record never exceeds its run's; a write
// whose raw was saved has a known effect, so it raises no barrier however it ends;
// only resolve lifts a barrier, settle does not; delete drops a late result with
// the record and keeps the verdict; a sweep of a run that is gone is
// ErrRunMissing.
type Store interface {
	Runs
	Calls
	Effects
	Reader
	Remover
	Quotas
}

// Runs opens and closes runs.
//
//	K01 open creates a run with deadline = store's now + duration.
//	K02 The same token and equal parameters answer the stored run, in whatever
//	    phase; a closed run stays closed.
//	K03 The same token with other parameters is ErrRunConflict, another token
//	    ErrRunTaken; neither changes anything.
//	K04 A duration above Limits.MaxDuration is ErrRunTooLong with both numbers in
//	    milliseconds; nothing is written.
//	K05 join answers the stored run to its token and writes nothing; another
//	    token is ErrRunTaken, no run ErrRunMissing. Inspect is join without a
//	    token, for readers.
//	K06 close is final, idempotent and needs the token. It answers what is open,
//	    what is unresolved and the last sequence. Calls in flight may still end.
//	K07 Every key of a run has an expiry from its first moment. It is chosen once
//	    and never moved, by nothing.
//	K08 A ledger whose last sequence is below a message's Seen has lost
//	    acknowledged writes: the run becomes damaged and refuses every
//	    admission. Reads, completions and close still work.
type Runs interface {
	OpenRun(context.Context, Opening) (RunState, error)
	JoinRun(context.Context, RunKey, Token) (RunState, error)
	Inspect(context.Context, RunKey) (RunState, error)
	CloseRun(context.Context, Closing) (ClosedRun, error)
}

// Calls admits calls and ends them.
//
// Admission decides in this order, and the first that applies is the answer:
// newer version or foreign type; our own claim; name seen; run missing, closed,
// damaged; not-after, deadline; barrier; capacity; run budget; tool budget.
//
//	K10 An admission creates one record in state PROJECTING with everything it
//	    was given, the next sequence, and takes one unit of each budget and the
//	    reserve. All of it or nothing.
//	K11 The same claim again answers the same sequence, evidence id and expiry
//	    and takes nothing; also after the run was closed or its deadline passed.
//	K12 The same claim after the record ended answers the ended state.
//	K13 A name that was seen is ErrDuplicate with the first one's state. The first
//	    keeps every byte and its expiry, and nothing is charged.
//	K14 The guard of a name lives as long as the run: also after the record was
//	    deleted or has expired.
//	K15 A name is turn and id, byte for byte: equal ids in two turns are two calls,
//	    and so are ids that differ in case.
//	K16 When several refusals apply, the order above decides which is told.
//	K17 A refusal leaves no trace: no key, no counter, no expiry moved. (A damaged
//	    run is marked; that is K08.)
//	K18 A delivery after NotAfter is ErrTooLate and touches nothing.
//	K19 A deadline that is exactly now has passed.
//	K20 Budgets of run and tool are exact; the smaller of the ledger's and the
//	    message's tool budget counts. What was charged is never refunded.
//	K21 Capacity: what is reserved and what ended records really hold never
//	    exceeds the run's Bytes; an ending gives the rest back.
//	K22 The barrier: while an effect is overdue or known to be unknown, every
//	    admission of that run is ErrUnresolvedEffect, other runs are not
//	    concerned. Reads never raise it.
//	K23 Of concurrent admissions of one name exactly one creates; of the last unit
//	    of a budget exactly one gets it.
//	K24 No bytes are shared with the caller, in either direction.
//	K25 A key of a foreign type is ErrForeign, a record or ledger of a newer version
//	    ErrNewerVersion; both stay untouched.
//
// Save stores raw while the call goes on; Complete ends it.
//
//	K30 save needs PROJECTING and the same claim. The raw is kept byte for byte,
//	    the record stays PROJECTING, its effect counts as known.
//	K31 The same bytes again are success, also after the end; others are
//	    ErrConflict and leave the accepted ones.
//	K32 complete moves PROJECTING to READY or ERROR, for the holder of the claim,
//	    with everything of the ending or nothing.
//	K33 The same claim and the same outcome again is success and changes nothing.
//	K34 Anything else is ErrConflict with the stored state; every accepted byte
//	    stays as it is.
//	K35 Neither ever creates a key: without a record the answer is ErrMissing and
//	    nothing remains.
//	K36 Bodies come back byte for byte: empty, with NUL, not UTF-8, of any size.
//	K37 An ending takes the call off the open ones. A known effect leaves the
//	    barrier, an unknown one raises it at once.
//	K38 Of two concurrent endings exactly one wins.
//	K39 A verdict that lifecycle refuses is refused before anything is sent.
//	K40 No expiry moves by save or complete.
type Calls interface {
	Admit(context.Context, Admission) (Admitted, error)
	Save(context.Context, Saving) (Ended, error)
	Complete(context.Context, Ending) (Ended, error)
}

// Batcher is what a store may have beside the Store: it takes several messages of
// one model turn in one trip. Without it they go one by one, to the same end. A
// wrapper that must see every message does not offer it.
//
//	K45 A batch answers as many answers as it has messages, in their order, each
//	    what Admit or Complete would have answered in that place.
//	K46 The messages of a batch are judged alone: one that is malformed, refused
//	    or not answered changes nothing for the others.
type Batcher interface {
	AdmitBatch(context.Context, []Admission) []AdmitAnswer
	CompleteBatch(context.Context, []Ending) []EndAnswer
}

// Effects ends what nobody will end, and keeps what becomes known afterwards.
//
//	K50 sweep ends only calls past due + grace, at most Max, earliest first.
//	K51 It ends a call whose raw was saved as ERROR/PROJECTION_FAILED, completed,
//	    raw kept, no barrier; another read as ORPHANED, unknown; anything else as
//	    OUTCOME_UNKNOWN with the barrier up.
//	K52 An owner that ends first wins over a sweep; after a sweep its ending is
//	    ErrConflict.
//	K53 settle under the claim that was swept appends a settlement and leaves the
//	    record as it is. While PROJECTING it is complete; the same outcome again
//	    is success, another ErrConflict; a record ended by its owner with another
//	    outcome is ErrConflict. The settlement expires with the run.
//	K54 settle with another claim is ErrConflict, without a record ErrMissing.
//	K55 resolve appends a verdict to a record that ended with execution unknown and
//	    takes its effect off the barrier; the record stays as it is. The same
//	    verdict and evidence again is success, another ErrConflict. An open call
//	    is ErrStillOpen, a record with a known execution ErrConflict.
//	K56 Outstanding lists open calls and effects with their due times and changes
//	    nothing.
type Effects interface {
	Outstanding(context.Context, RunKey) (Outstanding, error)
	Sweep(context.Context, Sweeping) ([]Swept, error)
	Settle(context.Context, Ending) (Ended, error)
	Resolve(context.Context, Resolution) error
}

// Reader reads. No read moves an expiry or issues a command that could.
//
//	K60 Heads answers as many heads as names, in that order. Missing, expired and
//	    another run's records are the zero Head. A record that cannot be read is
//	    a head with its identity and Fault, and its neighbours are answered. No
//	    raw, agent result or request is moved.
//	K61 View answers the agent result byte for byte, Record everything, verified:
//	    bytes that do not match their digest are ErrCorrupt. A missing record is
//	    ErrMissing.
//	K62 Order pages by sequence: entries after the given one, at most max, open,
//	    ended, deleted and expired calls alike. It never shrinks while the run
//	    lives.
//	K63 No read changes anything, whatever it meets.
//	K64 A run that is gone is ErrRunMissing for Order and Outstanding; trouble is
//	    an error; neither is ever an empty list.
//	K65 SettlementOf answers what was settled; a zero Late and Resolved when
//	    nothing was.
//	K66 FindEvidence answers the call that was admitted with the evidence id in
//	    this run, also when its record has gone. Any other id, of another run too,
//	    is ErrMissing; a run that is gone ErrRunMissing.
//	K67 RawPart answers bytes of the raw result from offset on: at most max, and at
//	    least one unless offset is the size. They are verified, by the digests of
//	    the pieces they lie in, or by that of the whole where it is one piece; no
//	    piece is moved that they do not lie in. An offset below 0 or beyond the
//	    size and a max below 1 are an ArgumentError, no raw is ErrMissing, bytes
//	    that do not match ErrCorrupt before any is given.
//	K68 ListRuns pages over the living runs of one scope by the end of their life,
//	    then by id: entries after the given one, at most max. Neither a run that is
//	    opened in between nor a second opening moves another run's place. Runs of
//	    other scopes are never among them. A scope without runs is an empty list.
type Reader interface {
	Heads(context.Context, RunKey, []CallName) ([]Head, error)
	View(context.Context, RunKey, CallName) (View, error)
	Record(context.Context, RunKey, CallName) (Record, error)
	Order(ctx context.Context, run RunKey, after int64, max int) ([]Numbered, error)
	SettlementOf(context.Context, RunKey, CallName) (Settlement, error)
	FindEvidence(context.Context, RunKey, EvidenceID) (CallName, error)
	RawPart(ctx context.Context, run RunKey, call CallName, offset int64, max int) (RawPart, error)
	ListRuns(ctx context.Context, scope Scope, after ListedRun, max int) ([]ListedRun, error)
}

// Remover takes records away before their time.
//
//	K70 delete takes the bodies and gives their capacity back, never the guard, a
//	    counter or the order. An open call is ErrStillOpen, one whose effect is
//	    unresolved ErrUnresolvedEffect; a missing record is success.
//	K71 When a run's life is over nothing of it is left, without anybody's doing.
type Remover interface {
	Delete(context.Context, RunKey, CallName) error
}

// Quotas keeps what the runs of a scope hold together within bounds: exactly, from
// any number of processes, and refusing, never evicting.
//
//	K72 With a quota, open reserves the run's whole capacity in its scope before the
//	    run exists: Budget.Calls records, Budget.Bytes bytes. Where the sum of all
//	    reservations would pass the quota the answer is ErrQuota with Wanted and
//	    Limit of the first number that does not fit, records before bytes, and
//	    nothing is written. A budget without limit under a quota is an
//	    ArgumentError. Opening a run that is there reserves nothing, whatever its
//	    answer and its quota, which K02 and K03 do not compare.
//	K73 close gives back what a run with a reservation has not used: it keeps
//	    LastSeq records and Reserved bytes, those of open calls included. Endings
//	    and deletions after it are given back by the next close, and by
//	    ReleaseRun, which needs no token and leaves a run that is not closed as it is; a run
//	    that is gone is ErrRunMissing. Sums are exact then.
//	K74 A reservation whose run's life is over counts for nothing, without anybody's
//	    doing.
//	K75 Of concurrent openings for the last of a quota exactly as many succeed as
//	    fit.
//	K76 ScopeUse answers what all reservations that count come to, and changes
//	    nothing; of an unknown scope nothing.
type Quotas interface {
	ScopeUse(context.Context, Scope) (Use, error)
	ReleaseRun(context.Context, RunKey) error
}
