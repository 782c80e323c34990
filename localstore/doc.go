// Package localstore is the store of canonical records in one file on the local
// disk, for people without a server: every acknowledged write is on the disk, and
// one process at a time has the file.
//
// # The file
//
// It is a bbolt database: a B+tree whose pages are copied, never overwritten while
// they count, under one writer at a time. "harness.db" where a program is told a
// directory only. Buckets and keys:
//
//	harness  format, clock                       version of the file; the latest time given out
//	runs     <scope digest>:<run id>             a bucket for each run
//	scopes   <scope digest> <end> <run id>       a scope's runs by the end of their life, and
//	                                             what each has reserved of the scope's quota
//	ends     <end> <run> [<call name>]           every life in the file, the next to end first
//
// In a run's bucket, a name being <turn>:<tool_call_id> as everywhere:
//
//	l                ledger: parameters, deadline, end, phase, sequence, budgets used (JSON)
//	f                effects that are not known, with their due times (JSON)
//	c:<name>         guard: sequence, end and fate of the record; as long as the run
//	e:<evidence id>  the name of its call
//	o:<seq> <name>   the order of admission
//	p:<due> <name>   calls that are PROJECTING
//	r:<name>         record: head, facts, coverage, descriptors of its bodies (JSON)
//	s:<name>         settlement (JSON)
//	bodies           a bucket: <number> <piece>, at most 256 KiB a piece; behind the last
//	                 of several the list of them, SHA-256 and size each
//
// Numbers are 8 bytes, big endian; times are milliseconds. Every value but a body
// is sealed: the letter H, the schema version, and 16 bytes of SHA-256 over where it
// stands and what it holds. A body is checked by the digests in its record. A
// file of a newer format is not opened ([ErrNewerFormat]); a record or ledger of a
// newer schema in it is refused and left as it is.
//
// # One message
//
// Whoever wants to write queues. The first who may takes all that wait, up to 256,
// into one transaction: each is decided in turn, in the store's time, and writes all
// or nothing; one commit, which is two waits for the disk, acknowledges them all. A
// refusal among them writes nothing, and a transaction without a write is not
// committed. AdmitBatch and CompleteBatch queue their messages together. Readers see
// the last commit, copy what they need, and are never in a writer's way; one who comes
// while a commit is under way waits for it, so that nothing is told that a power cut
// could take back.
//
// # Guarantees
//
// Those of [canonical.Store], clause by clause, and of [canonical.Batcher]. Beyond
// them:
//
//   - What was acknowledged is there after the process was killed at any moment
//     (TestCrash). It was handed to the disk with fsync before, the file's entry in
//     its directory included; so it is there after a power cut too, as far as the
//     disk tells the truth. Strength "fsync". There is no option to go without.
//   - A second process is told at once that another holds the file, [ErrLocked], or
//     waits for it as long as Options.Wait says.
//   - The store's time never goes back: where the machine's clock does, it stands
//     still, in later processes too. A clock that was set years ahead by mistake
//     holds it there.
//   - What has expired is never served again. It leaves the file with the writes that
//     follow (16 lives each, 2 whole runs among them) and at the next Open, and its
//     pages are used again, so that the file stops growing when as much ends as begins.
//   - A flipped bit in a record, a ledger, a guard, an index or a body is
//     [canonical.ErrCorrupt], before any byte of it is given. Pages that do not fit
//     together are [ErrDamaged], and the store takes no more messages.
//   - After a write that failed in a way that leaves open what is on the disk, every
//     message is refused with [ErrBroken]. The file is as sound as before: opening it
//     again shows what was kept.
//   - No error has a body, a secret, or a stored key in it; paths are in [FileError]
//     alone, and not in its SafeText.
//
// # Large runs
//
// A message touches its run's ledger and the few pages on the way to its own keys;
// what a run holds already hardly counts. A read call with 1 KiB of raw, admitted and
// ended, on a disk of a busy machine with two cores (make bench has the benchmarks):
//
//	calls in the run     one at a time     16 in a batch
//	0                    78 calls/s          650 calls/s
//	1,000                61 calls/s          940 calls/s
//	10,000              130 calls/s        1,170 calls/s
//
// The disk decides: one at a time is four waits for it. The file takes about 7 KB for
// such a call, 100 heads are read in 2 ms, a record of 1 MiB in 4 ms, and one byte of
// a large raw result costs its piece of 256 KiB. A duplicate is refused in 30 us,
// without a wait.
//
// # Not guaranteed
//
// bbolt's pages have no checksums. A flipped bit in the name of a run's bucket makes
// the run look missing, one in the tree may hide what stands below it, and one in a
// key can hide a settlement, or a run from the list of its scope with what it has
// reserved (TestFlippedBit counts them). Freed
// pages keep their bytes until they are used again, and the file never shrinks: who
// must not leave traces removes the file. It is not encrypted; it is readable by its
// owner alone (0600).
//
// The lock is the system's (flock). Network file systems may not keep it; the file
// belongs on a local disk. A message that is being written is not interrupted by its
// context: a disk that hangs holds it. Space for what a process writes at once is
// taken in memory first, one transaction with all bodies in it. Opening a run under a
// quota and ScopeUse look at each living run of the scope. A reader that copies a very
// large body holds up the growth of the file meanwhile, and with it the writer.
//
// # Use
//
//	store, err := localstore.Open(filepath.Join(dir, localstore.FileName), nil)
//	if errors.Is(err, localstore.ErrLocked) {
//		return err // names the file, and that another process holds it
//	}
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	b, err := boundary.New(boundary.Config{Store: store, ...})
package localstore
