package canonical

import "fmt"

// This file is what keeps bodies and secrets out of logs where [Body.Format]
// alone cannot. For a pointer inside a struct and a verb that does not fit it,
// such as %s, fmt prints the struct behind it without asking any method of its
// fields. It does ask the struct itself, so every struct with a body or a secret
// answers, with what fmt would have printed otherwise.
//
// What no method can help: fmt never asks the fields of an unexported field. A
// type that keeps one of these so has to have a Format of its own.

// Format prints the fields, the bytes as their size.
func (r Raw) Format(f fmt.State, verb rune) {
	type plain Raw
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(r))
}

// Format prints the fields, facts and coverage as their sizes.
func (h Head) Format(f fmt.State, verb rune) {
	type plain Head
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(h))
}

// Format prints the fields, bodies as their sizes. It is written out, and so is
// Record's, because an embedded type lends its Format to the outer one.
func (v View) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, "{Head:"+fmt.FormatString(f, verb)+" Agent:%v}", v.Head, v.Agent)
}

// Format prints the fields, bodies as their sizes.
func (r Record) Format(f fmt.State, verb rune) {
	directive := fmt.FormatString(f, verb)
	fmt.Fprintf(f, "{View:"+directive+" Request:%v Raw:"+directive+"}", r.View, r.Request, r.Raw)
}

// Format prints the fields, the bytes as their size.
func (r RawPart) Format(f fmt.State, verb rune) {
	type plain RawPart
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(r))
}

// Format prints the fields, the token as a placeholder.
func (o Opening) Format(f fmt.State, verb rune) {
	type plain Opening
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(o))
}

// Format prints the fields, the claim as a placeholder and the request as its size.
func (a Admission) Format(f fmt.State, verb rune) {
	type plain Admission
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(a))
}

// Format prints the fields, the claim as a placeholder and the raw as its size.
func (s Saving) Format(f fmt.State, verb rune) {
	type plain Saving
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(s))
}

// Format prints the fields, the claim as a placeholder and bodies as their sizes.
func (e Ending) Format(f fmt.State, verb rune) {
	type plain Ending
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(e))
}

// Format prints the fields, the token as a placeholder.
func (c Closing) Format(f fmt.State, verb rune) {
	type plain Closing
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(c))
}

// Format prints the fields, bodies as their sizes.
func (l LateResult) Format(f fmt.State, verb rune) {
	type plain LateResult
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(l))
}
