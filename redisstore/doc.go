// Package redisstore is the store of canonical records on Redis: one hash a
// call, one ledger a run, and a script for every decision, so that any number of
// processes share duplicates, budgets and deadlines.
//
// # Keys
//
// P is the prefix, "harness" unless set, and the major version of the layout:
// "harness:v1". S is the scope's digest, R the run id; the braces are the only
// hash tag, so all keys of a run lie in one slot.
//
//	key                    type        holds                                              expires with
//	P:{S:R}:run            hash        the ledger                                         the run
//	P:{S:R}:call:<name>    hash        one call's record                                  itself
//	P:{S:R}:order          sorted set  every name ever admitted, by sequence              the run
//	P:{S:R}:open           sorted set  names of PROJECTING calls, by due time             the run
//	P:{S:R}:effects        sorted set  calls that may have changed something, by due
//	                                   time; 0 where the outcome is known to be unknown   the run
//	P:{S:R}:settled:<name> hash        what became known after a record's end             the run
//	P:{S}:runs             sorted set  ids of a scope's runs, by the end of their life    its last run
//	P:{S}:held             sorted set  reservations of its quota, likewise                their last run
//	P:{S}:quota            hash        sums over them, and the numbers of each            their last run
//
// A name is <turn>:<tool_call_id>; the first colon ends the turn. Times are
// milliseconds of the server's clock. An expiry is chosen once: the run's by
// open (deadline + record TTL + a minute), a record's by admit. Later writes
// repeat it or leave it alone. What is kept of a scope as a whole lies in a slot
// of its own and expires with the last run in it. A run is written into the list
// together with its ledger, to leave it a second later; a listed run without a
// ledger is skipped, and what is over is removed when the next run is opened.
//
// # Fields
//
// Of a ledger:
//
//	v st        schema version; open, closed or damaged
//	tk pd pm    digests of token and parameters; the parameters (JSON, for Go alone)
//	op dl ex    opened, deadline, expiry
//	rb tb cb    budgets: calls, calls of one tool, bytes; -1 without limit
//	sq rs       last sequence = number of admissions; bytes reserved and used
//	u:<tool>    calls of that tool
//	qm          mark of the reservation that the run was opened under, if any
//	c:<name>    guard: the sequence of the call that has this name; never removed
//	e:<id>      name of the call with that evidence id
//
// Of a record:
//
//	v st cl     schema version; PROJECTING, READY or ERROR; claim of the entry
//	sq ev ef    sequence, evidence id, effect
//	at due ex   admitted, abandoned from, expiry
//	rs          bytes reserved, then bytes that its bodies take
//	rq md       request as sent; what never changes (JSON): scope digest, run, turn,
//	            id, tool, principal, operation key, size and digest of the request
//	en od by    ended; digest of the outcome; "owner" or "sweep"
//	cd xe fm    code, execution; evidence status, stage and descriptors (JSON)
//	rd rm       digest and descriptor (JSON) of the raw
//	ac          names of the payload fields that were accepted
//	su pc       reserved for suspended calls
//
// Of a settlement:
//
//	v           schema version
//	lo lm lf lt late outcome's digest, verdict and descriptors (JSON), payload fields, time
//	rv re rt    verdict, what it rests on, time
//
// Of a scope's quota:
//
//	n b         records and bytes of all reservations, those too that are over and
//	            not yet taken out
//	r:<id>:<mark> records, bytes, and when the run was seen to hold them
//
// A reservation is marked with the opening that made it. So of two openings of one
// run, each with its own, the one that does not get the run gives back its own and
// nothing else. One whose process died in between counts until its time is over.
//
// A record exists when it has st. Every other field has a colon and is a
// payload: <kind>:<claim>:<first 16 hex digits of its SHA-256>, with a piece
// number behind it for bodies above 1 MiB. Kinds are raw, ag, fc and cv. A body
// goes into the field that its own digest names, so nothing that is sent later
// can land in a field that was accepted, and whoever ends a record removes the
// payload fields that it does not name.
//
// # One call
//
//	admit     EVALSHA admit                                             one trip
//	complete  bodies up to 2 KiB:  EVALSHA complete                     one trip
//	          up to 1 MiB:         MULTI HSET attach EVALSHA EXEC       one trip
//	          above:               a MULTI for each piece of 255 KiB,
//	                               the script in the last, one pipeline one trip
//
// Long bodies pass beside the script, not through it. attach is a script of
// three lines that travels as text: should the record have expired, it removes
// what the HSET before it has just revived, and a key of another type it leaves
// alone. A server that lost its scripts is sent their text; nothing is loaded
// ahead.
//
// # Guarantees
//
// Those of [canonical.Store], clause by clause. All messages may be sent twice,
// so the client may retry. A record of a newer schema and a key of a foreign
// type are refused and not changed. Errors of this package have neither keys nor
// bodies, addresses or secrets in them, in any format.
//
// # What is promised where
//
// Each line names the test that shows it, or says that none does.
//
//	one server, noeviction
//	  every clause of the contract                        TestT64_conformance
//	  restart without persistence: all is missing,        TestServerFault
//	    nothing comes back half
//	  restart with appendfsync always: nothing is lost    TestServerFault
//	  restart with appendfsync everysec: up to two        not tested
//	    seconds of acknowledged writes are lost
//	  loading, busy, full, without its scripts: a typed   TestServerFault TestMemory TestScript
//	    answer, and nothing half written
//	with replicas
//	  strength "memory": what the promoted replica had    TestFailover (counts it)
//	    not received is lost
//	  Options.Replicas: a call is entered only once so    TestReplicas_too_few
//	    many have its admission
//	  none of those is lost when a replica takes over     TestFailover
//	  Sentinel: calls go on with the promoted replica     TestFailover TestDial_sentinel
//	  a replica taken for the primary refuses writes      TestServerFault TestHealth_of_a_replica
//	Cluster
//	  every clause of the contract                        TestT64_conformance TestWalk_cluster
//	  a primary that dies or hangs: admissions go on      TestFailover (a target, it is measured)
//	    after the node timeout and two seconds
//	  a primary without the scripts is given them         TestFailover_scripts_are_unknown_to_the_new_primary
//	  a slot that has moved is followed                   TestCluster_slot_moves
//	  a slot on its way: carried out, or trouble and      TestResharding
//	    then sent again; nothing half written
//	maxmemory-policy
//	  noeviction                                          TestMemory
//	  any other: no run is opened, unless the options     TestEviction
//	    accept it; then any key may go at any time
//	  a ledger that was evicted does not come back        TestLedger_that_is_lost
//	other servers
//	  Redis 7.2 and later                                 not tested
//	  Redis 6.2: nothing is used that it lacks            not tested
//	  Valkey: as Redis 7.2                                not tested
//
// A loss that some process noticed, because it had seen a later sequence than the
// ledger has, marks the run as damaged. What no living process has seen cannot be
// noticed.
//
// # Acknowledgements of replicas
//
// Options.Replicas puts WAIT behind every admission, saving and ending, in the same
// write on the connection that wrote: no trip more. What was reached is reported as
// the strength, "memory" or "replicas:n"; a record that is read later says "memory",
// since nobody kept it. An admission that reached fewer than were asked for is ended
// by the store as STORE_UNAVAILABLE, not started, and refused with
// [canonical.ErrStrength]; it keeps its record and its place in the budgets. An ending
// that reached fewer is an ending, with the strength that it has.
//
// A replica that has acknowledged may still fail with its primary, and a cluster whose
// only replica has just been promoted has nobody to ask: calls are refused until
// there is another. On a cluster such messages do not follow a slot that is on its
// way: they are trouble until it has arrived.
//
// # Not guaranteed
//
// Settlements are outside the run's capacity: one a swept call, within the same
// limits. A call that holds more than it reserved is counted as it is, and not
// refused. go-redis writes lines of its own about connections, with addresses in
// them, to standard error; its SetLogger is the process's to set.
//
// Deadlines are as exact as the clocks of the servers agree. Scripts ask TIME;
// readers take the ledger's expiry less its PTTL, since a cluster client would
// send TIME, which has no key, to any node. Lua never parses JSON, and Go alone
// reads it.
//
// # Use
//
//	store, err := redisstore.Dial(ctx, "redis://localhost:6379", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	report, err := store.Health(ctx) // ask at start, and on demand
//	...
//	b, err := boundary.New(boundary.Config{Store: store, ...})
//
// With a client of your own, use [New]; Health names the settings of it that are
// wrong. A cluster client of your own looks who is master only while commands begin,
// where Dial's looks every second. For tests and demonstrations there is package
// embedded, a server in the process.
//
// Sources: rows C08, C10, C13 to C15, C22 to C29, C36 of docs/sources.md.
package redisstore
