package storetest

// ClauseIDs lists the numbers of the contract for the external tests.
func ClauseIDs() []string {
	var ids []string
	for _, c := range clauses() {
		ids = append(ids, c.id)
	}
	return ids
}
