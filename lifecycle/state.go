package lifecycle

// State is the state of a canonical record. The zero value means "no record".
type State string

// The three states, spelled as they are stored.
const (
	Projecting State = "PROJECTING" // admitted; the tool may be running
	Ready      State = "READY"      // result stored and projected; final
	Error      State = "ERROR"      // ended without a usable result; final
)

// transitions is the whole diagram of the package comment; a test compares the
// two.
var transitions = [...]struct{ from, to State }{
	{Projecting, Ready},
	{Projecting, Error},
}

// Valid reports whether s is one of the three states.
func (s State) Valid() bool { return s == Projecting || s.Final() }

// Final reports whether s can never change again.
func (s State) Final() bool { return s == Ready || s == Error }

// CanBecome reports whether the record may move from s to next.
func (s State) CanBecome(next State) bool {
	for _, t := range transitions {
		if t.from == s && t.to == next {
			return true
		}
	}
	return false
}

// Transition returns the state after c ends a record in state s, or a
// [*TransitionError]. It checks c first, so an impossible completion is refused
// whatever the state.
func (s State) Transition(c Completion) (State, error) {
	if err := c.Validate(); err != nil {
		return s, err
	}
	if !s.CanBecome(c.State) {
		return s, &TransitionError{From: s, To: c.State}
	}
	return c.State, nil
}

// TransitionError reports a move that the diagram does not have.
type TransitionError struct{ From, To State }

// Error has the two states.
func (e *TransitionError) Error() string {
	from := string(e.From)
	if from == "" {
		from = "no record"
	}
	return "lifecycle: no transition from " + from + " to " + string(e.To)
}
