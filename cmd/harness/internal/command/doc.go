// Package command is the command line of the program: what can be asked, and what the exit status means.
//
//	harness demo       recorded calls and searches of our own through the boundary, checked; see package demo
//	harness replay     recorded conversations of anyone's agent through the boundary, counted; see package replay
//	harness version    which build this is
//	harness help       all commands and flags
//
//	exit status
//	0                  done, and all was as it should be
//	1                  ran, and something was not as it should be
//	2                  not understood: unknown command, flag or argument; nothing ran
//
// A command's result goes to standard output, everything else to standard error, so that a result can be piped. The
// package is apart from main so that tests can run every command without a process; it holds no state between runs.
package command
