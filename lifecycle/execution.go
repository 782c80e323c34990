package lifecycle

// Execution says what is known of the tool's body. The zero value is invalid,
// so that a forgotten field cannot read as "did not run".
type Execution string

// The three executions.
const (
	NotStarted Execution = "not_started" // never entered, and will not be under this call
	Completed  Execution = "completed"   // entered and ended, with whatever outcome
	Unknown    Execution = "unknown"     // cannot be told; never becomes success by itself
)

// Valid reports whether x is one of the three.
func (x Execution) Valid() bool { return x == NotStarted || x == Completed || x == Unknown }

// Ran is the word the model reads: "no", "yes" or "unknown". An invalid
// execution reads as "unknown", the only answer that invites no repetition.
func (x Execution) Ran() string {
	switch x {
	case NotStarted:
		return "no"
	case Completed:
		return "yes"
	default:
		return "unknown"
	}
}
