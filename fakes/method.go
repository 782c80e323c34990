package fakes

// Method names one method of a canonical.Store, spelled as it is there. A fault
// on a misspelled one would never happen and its test show nothing; so
// [Faulty.Script] refuses it.
type Method string

// The methods of a store.
const (
	MethodOpenRun      Method = "OpenRun"
	MethodJoinRun      Method = "JoinRun"
	MethodInspect      Method = "Inspect"
	MethodCloseRun     Method = "CloseRun"
	MethodAdmit        Method = "Admit"
	MethodSave         Method = "Save"
	MethodComplete     Method = "Complete"
	MethodOutstanding  Method = "Outstanding"
	MethodSweep        Method = "Sweep"
	MethodSettle       Method = "Settle"
	MethodResolve      Method = "Resolve"
	MethodHeads        Method = "Heads"
	MethodView         Method = "View"
	MethodRecord       Method = "Record"
	MethodOrder        Method = "Order"
	MethodSettlementOf Method = "SettlementOf"
	MethodFindEvidence Method = "FindEvidence"
	MethodRawPart      Method = "RawPart"
	MethodListRuns     Method = "ListRuns"
	MethodDelete       Method = "Delete"
	MethodScopeUse     Method = "ScopeUse"
	MethodReleaseRun   Method = "ReleaseRun"
)

// Methods lists all of them, in the order of the interface.
func Methods() []Method {
	return []Method{
		MethodOpenRun, MethodJoinRun, MethodInspect, MethodCloseRun, MethodAdmit, MethodSave, MethodComplete,
		MethodOutstanding, MethodSweep, MethodSettle, MethodResolve, MethodHeads, MethodView, MethodRecord,
		MethodOrder, MethodSettlementOf, MethodFindEvidence, MethodRawPart, MethodListRuns, MethodDelete,
		MethodScopeUse, MethodReleaseRun,
	}
}
