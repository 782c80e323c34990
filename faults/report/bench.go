package report

import "context"

// Section is one family of injections. The program runs all of them one after
// another and prints one table.
type Section struct {
	Name string
	Run  func(context.Context, *Bench) error
}

// Bench is what a section is given. Its fields are not changed while sections
// run.
type Bench struct {
	Lines   *Writer
	Entries string // path of the file that Enter appends to
	Dir     string // of the whole run; a section may put files of its own there
	Seed    uint64 // from which a section derives the seeds of its injections
	Full    bool   // the whole number of injections, not the short one

	// Audit has the checker recount everything that was written since the last
	// audit, against the contents of the server at addr, database 0. Every key
	// there must belong to a run that the lines name. Afterwards the section may
	// empty the server. The error says that the server could not be read; what
	// is wrong with the contents goes into the table.
	Audit func(ctx context.Context, addr string) error

	// Logf tells a person how far the section has come.
	Logf func(format string, args ...any)
}
