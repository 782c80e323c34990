package lifecycle

var (
	no        = []Execution{NotStarted}
	yes       = []Execution{Completed}
	unknown   = []Execution{Unknown}
	entered   = []Execution{Completed, Unknown}
	whichever = []Execution{NotStarted, Completed, Unknown}
)

// table is the closed list. A test checks that every code stands in it once,
// and tests of the boundary produce every row.
var table = [...]Info{
	{InvalidToolCallID, "The tool call id is missing or has characters that are not allowed. The call was not run.", ByHost, false, no, nil},
	{RunMismatch, "The call belongs to another run. It was not run.", ByHost, false, no, nil},
	{RequestTooLarge, "The arguments are too large. The call was not run. Send smaller arguments under a new id.", ByModel, true, no, nil},
	{InvalidInput, "The arguments are not one valid JSON object as this tool expects it. The call was not run.", ByModel, true, no, nil},
	{ReferenceRefused, "The call cites a result that was not served in this conversation. It was not run. Cite only ids that you were given.", ByModel, true, no, nil},
	{Unauthorized, "The call is not authorized. It was not run.", ByHost, false, no, nil},
	{NotReadOnly, "The call could change something, which is not allowed here. It was not run.", ByModel, false, no, nil},
	{RunInactive, "The run is closed. The call was not run.", ByNobody, false, no, nil},
	{RunDeadlineExceeded, "The run is out of time. The call was not run.", ByNobody, false, no, nil},
	{UnknownTool, "There is no tool of this name. Nothing was run.", ByModel, true, no, nil},
	{DuplicateToolCall, "This tool call id was used before. The call was not run again.", ByModel, true, no, nil},
	{RunBudgetExhausted, "No calls are left in this run. The call was not run.", ByNobody, false, no, nil},
	{ToolBudgetExhausted, "No calls to this tool are left in this run. The call was not run.", ByModel, false, no, nil},
	{CapacityExhausted, "There is no room left for results of this run. The call was not run.", ByOperator, false, no, nil},
	{UnresolvedEffect, "An earlier call may have changed something and its outcome is not known yet. Nothing runs until that is settled.", ByHost, false, no, nil},
	{Suspended, "The call waits for a decision. It has not run.", ByHost, false, nil, no},
	{ToolExecutionFailed, "The tool failed.", ByModel, true, nil, yes},
	{ToolTimeout, "The tool did not finish in time.", ByModel, true, nil, entered},
	{Cancelled, "The call was cancelled.", ByNobody, false, no, whichever},
	{OutcomeUnknown, "The tool may or may not have taken effect. Do not repeat the call.", ByHost, false, unknown, unknown},
	{ResultTooLarge, "The tool ran, but its result is too large. If it only reads, ask for less under a new id.", ByModel, true, nil, yes},
	{ResultNotStored, "The tool ran, but its result could not be stored. Do not repeat the call.", ByOperator, false, yes, nil},
	{ProjectionFailed, "The tool ran, but its result could not be prepared.", ByHost, false, nil, yes},
	{InvalidEvidenceStatus, "The tool ran, but what its result means could not be told.", ByHost, false, nil, yes},
	{StoreUnavailable, "The record of tool calls could not be reached. The call was not run.", ByOperator, true, no, no},
	{StoreConflict, "The call was settled differently by another process. Its result here does not count.", ByHost, false, entered, nil},
	{RecordExpired, "The tool ran, but the record of the call is gone.", ByHost, false, yes, nil},
	{Orphaned, "The process that ran this call is gone. Whether the tool finished is not known.", ByOperator, true, nil, unknown},
}
