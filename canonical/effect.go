package canonical

// Effect says what a tool may do to the world. The host sets it per tool, never
// from a name or from arguments.
type Effect string

// The effects. The zero value is treated as EffectUnknown wherever it is met, so
// that a forgotten setting refuses.
const (
	EffectRead    Effect = "read"    // changes nothing that anybody could notice
	EffectWrite   Effect = "write"   // may change something
	EffectUnknown Effect = "unknown" // nobody knows; handled as a write
)

// Read reports whether e is exactly EffectRead.
func (e Effect) Read() bool { return e == EffectRead }

// Valid reports whether e is one of the three.
func (e Effect) Valid() bool { return e == EffectRead || e == EffectWrite || e == EffectUnknown }
