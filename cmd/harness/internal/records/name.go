package records

import (
	"strings"

	"github.com/toolharness/harness/canonical"
)

// NameOf is the name of a call as lists show it and [ParseName] reads it.
func NameOf(call canonical.CallName) string {
	if call.Turn == "" && !strings.Contains(string(call.ID), ":") {
		return string(call.ID)
	}
	return call.String()
}

// ParseName reads what a person names a call with: an id without a colon is that of a call without a turn, anything else
// is turn, colon, id, where the first colon ends the turn. The error names the part that is malformed.
func ParseName(name string) (canonical.CallName, error) {
	if strings.Contains(name, ":") {
		return canonical.ParseCallName(name)
	}
	id, err := canonical.ParseToolCallID(name)
	return canonical.CallName{ID: id}, err
}
