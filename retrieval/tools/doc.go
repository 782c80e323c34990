// Package tools is the two tools by which a model may read evidence itself:
// evidence_read and evidence_list. They are ordinary tools of a toolset, and off
// until a host adds them:
//
//	reading, err := tools.New(tools.Config{Reader: reader})
//	...
//	set, err := boundary.NewToolset(b, append(reading, myTools...)...)
//
// with tools.Codes() among boundary.Config.Codes, so that the model is told why
// something could not be read. Without them it is told TOOL_EXECUTION_FAILED.
//
//	evidence_read {"id":"..."}              a part of one result, as its redacted view
//	              {"reference":{...}}
//	evidence_list {}                        a page of metadata
//
// # What a model gets
//
// Only views and metadata: raw bytes, requests, principals and keys are not in
// what the tools return. Only of the run that the call is made in, unless
// Config.WholeScope is set; never of another scope, which is taken from the call's
// own run and from no argument.
//
// A reply fits the model's limit after JSON escaping, whatever the text is made of:
// the projector of each tool sends what fits, and next_offset and next are those of
// what was really sent. So a model that goes on where it was told to gets every
// character and every entry once.
//
// # What is no absence
//
// EVIDENCE_MISSING is said when the evidence is not there. A look-up that ended
// early (EVIDENCE_LOOKUP_BUDGET), a busy reader, a store that could not be asked
// and a withheld view have codes of their own.
//
// # Not guaranteed
//
// A call of these tools is a record like any other, takes a unit of the run's
// budget, and its reply is in that record until it expires; package retrieval
// shows none of it. Its status is EVIDENCE_FOUND, since what was asked for was
// found; it has no facts, so no report repeats what was read. A host that admits
// conclusions should have the original call cited and not the reading of it.
//
// The names belong to these tools. A toolset that holds tools of other makers must
// refuse them there; [Executor] tells which is which.
//
// Sources: E05, E18, E38, E39, E41, E42; S11, S12, S15, S36, S37, S128 of "durable
// tool evidence".
package tools
