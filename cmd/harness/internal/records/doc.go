// Package records answers what the program is asked about runs that have been: which there are, what became of their
// calls, what a result is, and a whole run as a file. It stands on package retrieval, which verifies what it serves, and
// gives documents with two faces: JSON members for scripts, and [RunList.Text] and its like for people.
//
//	                   asks                        has
//	Reader.Runs        the list of the scope       phase, calls, lives of each run
//	Reader.Calls       one run                     what became of each call, no bodies
//	Reader.Record      one call                    metadata, facts, coverage; bodies with [Ask].Raw alone
//	Reader.Read        one result                  the redacted view, or a part of it
//	Reader.Raw         one result                  the bytes themselves
//	Reader.Export      one run                     a file that [Verify] checks without any store
//
// A call is named as lists show it: by its id where it has no turn and no colon in its id, else as turn, colon, id, so
// that a name is read in one way only ([ParseName]).
//
// # Guarantees
//
//   - Members of a document that is written as JSON are added and never renamed or taken away. What is not known or not
//     there has no member; a list is never null. Times are UTC, sizes are bytes.
//   - Bodies are served after they were verified whole, or not at all. Without Raw no document has one, and views, facts
//     and coverages are redacted by names of credentials and by the rules of redact/text.
//   - A list is told page by page; what cannot be read is an entry that says so, and hides no other.
//   - Errors have no key, no address and no body. Missing, deleted, expired and of another scope are one error.
//   - Texts for people are harmless on a terminal.
//
// # Not guaranteed
//
// A view hides what names and rules find and no more. Calls of the reading tools of a model are not listed and not shown;
// an export has them.
//
//	reader, err := records.New(store, scope)
//	list, err := reader.Calls(ctx, retrieval.Filter{Run: run}, records.Place{})
//	list.Text(console.For(os.Stdout))
package records
