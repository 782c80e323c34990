// Package projector is how the raw result of a tool becomes the small one that a
// model gets: the contract for authors of projectors, and the driver that runs
// one without trusting it.
//
//	raw bytes, request, limits --> Project --> agent result   what the model reads
//	                                           status         found, none
//	                                           coverage       where was looked, how far
//	                                           facts          what the tool returned
//
// # What counts as what
//
// A projector counts. Three things can come of it, and there is no fourth:
//
//	at least one counted item                     evidence.Found
//	zero counted, and the data proves that the    evidence.None, with a Coverage
//	search ran to its end
//	anything else                                 an error
//
// Only something that can be counted is judged: an array, or a typed result with
// a count of its own. Prose, null, an empty body and a shape that the projector
// does not know are not "nothing found"; they are unreadable. So is a result
// that was cut before its first item. An error object that the tool returned as
// ordinary output is a failure of the tool. The expensive mistake is to take an
// outage for an absence, therefore doubt is always an error.
//
// A count of zero that the tool itself returned (COUNT(*) = 0) is an item with
// the value zero, hence found.
//
// # What an author promises
//
//   - Pure: the answer depends on the [Input] alone, the clock included
//     ([Input.Now]); the same input gives the same bytes. No I/O.
//   - Bounded: the agent result stays below [Limits.AgentBytes] by construction,
//     not by luck; [List] does that. Whatever is left out is stated in the data
//     ("returned", "omitted"), cuts fall on rune boundaries and carry a mark.
//   - Cancellable: a loop over large input looks at its context.
//   - Exact: numbers keep the digits of the raw text; nothing passes through a
//     float64. Text from the tool is data: quoted, without control characters.
//
// # What the driver does about it
//
// [Drive] runs the projector in its own goroutine on private copies of raw and
// request, ends at a time limit whether the projector looks at its context or
// not, catches panics, and checks all that came back before anybody else sees
// it. What it returns shares no memory with the projector. A projector that
// never returns keeps its goroutine and its copies; the driver cannot end it.
//
// Not guarded against: a projector that does I/O, exhausts memory, or returns
// raw text as it is while that happens to fit the limit. projectortest finds the
// common breaches.
//
// # A projector in whole
//
//	func hits(_ context.Context, in projector.Input) (projector.Projection, error) {
//		var a struct{ Hits []Hit; Done *bool }
//		if err := json.Unmarshal(in.Raw, &a); err != nil {
//			return projector.Projection{}, err
//		}
//		if a.Hits == nil || a.Done == nil { // an error object, or a shape we do not know
//			return projector.Projection{}, errNotAnAnswer
//		}
//		list := projector.NewList(in.Limits.AgentBytes)
//		for _, hit := range a.Hits {
//			list.Add(hit)
//		}
//		p := projector.Projection{Result: list.JSON(), Status: evidence.Found}
//		p.Coverage = evidence.Searched(string(in.Request), "collection docs")
//		p.Coverage.Complete = *a.Done
//		if len(a.Hits) == 0 {
//			p.Status = evidence.None // refused by the driver unless the search ran to its end
//		}
//		return p, list.Err()
//	}
//
// Test your own with projectortest.Run. Ready ones: rows (SQL results), lines (log
// searches), hits (document searches), text (any JSON or text), and [Summarize]
// around any of them.
//
// Sources: rows C16 to C21, C28 to C30, A18 to A21, A29, A31 of docs/sources.md.
package projector
