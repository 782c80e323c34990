// Package benchmarks measures Harness against what Redis itself costs, and against
// what people would use instead.
//
//	make bench          all Go benchmarks, then the tables of command bench
//	make bench-peers    the same work with DBOS and Temporal, where they can be had
//
//	folder    what it is
//	content   bodies out of real rows, log lines and articles
//	bed       redis-server and cluster on loopback, and what INFO knows of their work
//	measure   samples, rounds, medians of ratios
//	report    tables, as text and as JSON
//	section   the benchmarks, one table each; Go benchmarks of inner parts
//	cmd/bench the program
//	peers     a module of its own: other systems on the same work
//
// The numbers of one machine, and what they say, are in docs/performance.md. Nothing
// here is a test of speed: a slow machine fails nothing.
//
// # Use
//
//	go run ./benchmarks/cmd/bench -only calls -sizes 16384 -callers 1 -rounds 9
//	go run ./benchmarks/cmd/bench -o json > before.json
//	go test ./benchmarks/section -run '^$' -bench . -count 10 > before.txt # for benchstat
package benchmarks
