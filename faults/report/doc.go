// Package report writes what injections did: one JSON line for each call that
// met a fault, and one line in a second file for each entry of a tool body.
//
// Whoever injects faults writes with this package. Whoever recounts shares no
// code with it: package checker has its own reader of both files, so that a
// mistake in here is found there. The format and the meaning of every field are
// in the comment of package faults.
//
// # Use
//
//	func run(ctx context.Context, b *report.Bench) error {
//		b.Lines.Plan(report.Combination{Section: "kill", Fault: "SIGKILL", Script: "complete", Place: "after"}, 200)
//		...
//		b.Lines.Call(report.Call{Combination: c, Seed: seed, Base: report.Base(key), Name: name, ...})
//		return b.Audit(ctx, addr) // while the server still has what the calls left
//	}
//
// A section that ends without Audit has its lines counted, and its Redis not
// looked at; the checker refuses such a file.
package report
