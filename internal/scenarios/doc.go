// Command scenarios proves that every row of docs/scenarios.md is shown by a
// test that passed, on every store the row names.
//
//	docs/scenarios.md          go test -json
//	| P01 | words | fake redis |   {"Action":"pass","Test":"TestAdmit/redis/P01_reply_lost"}
//	         \                      /
//	          P01   fake MISSING   redis 1
//
// # What counts
//
// A scenario is named by a path element of a test's name that begins with its
// number and an underscore: TestAdmit/fake/P01_reply_lost, TestP01_reply_lost,
// T01_T02_one_call for two of them. A store is named by an element that is
// exactly one of fake, embedded, redis, cluster, local. A row with the store "-" wants one test on
// any store or none.
//
// Only the lowest test of a path counts, once it passed and nothing above it
// failed on its own account. A test that failed, was skipped or never ended shows
// nothing, nor does a parent whose subtests were skipped. Numbers in comments and
// in log output are never looked at.
//
// # What fails
//
// A row without a passing test for each of its stores; a failing test or
// package; a stream that stops in the middle or holds nothing; a table that
// names a number twice, an unknown store, or says nothing about a number.
//
// # Use
//
//	go run ./internal/scenarios                          run the tests of every module of go.work, judge
//	go run ./internal/scenarios -save FILE -- -race      the same with flags for go test, keeping the events
//	go run ./internal/scenarios -events FILE             judge a saved stream
//	go run ./internal/scenarios -events FILE -packages   only what go test said about each package
//
// It exits with 0 when all holds, 1 when something does not, 2 when it could
// not look.
package main
