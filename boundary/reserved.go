package boundary

import "fmt"

// ReservedTools are the names of the tools by which a model reads evidence. No
// other tool may have them: what a model was taught about one of these names must
// hold wherever it meets it (E18).
func ReservedTools() []string { return []string{"evidence_list", "evidence_read"} }

// ReservedExecutor is an executor that belongs under a reserved name. Those of
// package retrieval/tools are.
type ReservedExecutor interface {
	Executor
	ReservedName() string
}

// checkReserved refuses a reserved name for a tool that it does not belong to.
func (t Tool) checkReserved() error {
	own, _ := t.Executor.(ReservedExecutor)
	for _, name := range ReservedTools() {
		if t.Name == name && (own == nil || own.ReservedName() != name) {
			return fmt.Errorf("name %q is reserved for the tool of package retrieval/tools", name)
		}
	}
	return nil
}
