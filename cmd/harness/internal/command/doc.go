// Package command is the command line of the program: what can be asked, and what the exit status means.
//
//	harness demo       recorded calls and searches of our own through the boundary, checked; see package demo
//	harness replay     recorded conversations of anyone's agent through the boundary, counted; see package replay
//	harness ls         the runs that are kept, or what became of the calls of one; see package records
//	harness show       what is known of one call
//	harness read       what it returned, without credentials
//	harness export     a run as a file that can be checked anywhere
//	harness verify     checks such a file, and needs no store
//	harness version    which build this is
//	harness help       all commands and flags
//
//	exit status
//	0                  done, and all was as it should be
//	1                  ran, and something was not as it should be
//	2                  not understood: unknown command, flag or argument; nothing was done
//	3                  not found: no such run, call, result or file
//	4                  does not verify: stored bytes or a file are not what was recorded of them
//
// Only the commands that read what is kept end with 3 and 4. Their documents are those of package records; members are
// added to them and never renamed.
//
// A command's result goes to standard output, everything else to standard error, so that a result can be piped. The
// package is apart from main so that tests can run every command without a process; it holds no state between runs.
package command
