package boundary

import (
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// The words of package canonical that a host needs to set up a boundary, so that
// a simple program imports one package less.
type (
	RunID      = canonical.RunID
	ToolCallID = canonical.ToolCallID
	Turn       = canonical.Turn
	Scope      = canonical.Scope
	Principal  = canonical.Principal
	Budget     = canonical.Budget
	Limits     = canonical.Limits
	Effect     = canonical.Effect
	Code       = lifecycle.Code
)

// Effects of a tool, and the budget that has no end. See package canonical.
const (
	EffectRead    = canonical.EffectRead
	EffectWrite   = canonical.EffectWrite
	EffectUnknown = canonical.EffectUnknown
	Unlimited     = canonical.Unlimited
)
