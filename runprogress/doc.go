// Package runprogress turns the ordered identities of a run's calls into a
// bounded report of what was observed, from the canonical records alone.
//
//	identities                    heads, in batches          report
//	tracker of this process  --+                        +-- facts, in order of admission
//	                           +-->  READY, this run  --+-- absences, each with its coverage
//	the store's order        --+     everything else  ----- excluded, each with a reason
//	                                 over a cap       ----- omitted, counted
//
// A [Tracker] remembers which calls of a run have ended and nothing else. It is
// no second record: whatever a report says is read from the store when it is
// asked for, without raw, agent results or requests. Another process builds the
// same report from the store's order with [FromStore].
//
// # Guarantees
//
//   - Only READY records of the run itself give facts or absences. A record that
//     is missing, expired or another run's looks the same in all three cases;
//     open and failed calls, records of a newer version and records that cannot
//     be read are listed with the reason and never counted as observed.
//   - The order is that of admission, whichever call ended first. A call that is
//     named twice is reported once.
//   - NO_EVIDENCE becomes an absence with the coverage that it was recorded with,
//     never a fact.
//   - A report is bounded: [MaxFactsPerCall], [MaxObservations], [MaxBytes].
//     What is over is counted, by the cap that it met.
//   - Trouble of the store is an error and never a shorter report.
//   - The same records give the same bytes, in [Report.Text] and in JSON.
//   - Complete is said only of a closed run of which every admission was looked
//     at and none was open or unreadable.
//
// # Not guaranteed
//
// A fact says what a tool returned, not that it is true. A report of a run that
// goes on is a view of one moment. What became known after a record ended (a
// settlement) is not part of it: the record is what the model was told.
//
// # Text
//
// Each line of [Report.Text] after the first is one observation or one kind of
// gap. Words of tools are quoted unless they are plain, and nothing that a tool
// returned can begin a line:
//
//	run r1, closed: 3 calls admitted, 3 looked at, 2 ready, 2 facts, 1 absence; complete
//	1 query call_a: table Artist rows = 275
//	1 query call_a: column Name type = "NVARCHAR(120)"
//	2 search call_b: found nothing: "searched docs for AC/DC"
//	excluded: 1 error TOOL_TIMEOUT, ran unknown: 3 query call_c
//
// [Report.CitingText] adds which ids a conclusion may cite, and as what:
//
//	may be cited as fact: call_a
//	may be cited as absence, inside its coverage: call_b
//
// # Use
//
//	var done runprogress.Tracker
//	done.Completed(call, seq)                              // after each call has ended
//	report, err := runprogress.Project(ctx, store, run, done.Calls())
//	if err != nil {
//		return err // the store could not be asked; nothing is known
//	}
//	prompt += report.Text()
//
// A host that polls a run which goes on keeps a [Cursor] and calls [Continue].
//
// Sources: rows C38 to C43, A09, A14, A21 to A24 of docs/sources.md.
package runprogress
