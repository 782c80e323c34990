// Package race lets 64 goroutines in 4 processes want the same one thing at the
// same moment, many times over: exactly one may have it.
//
//	contest          what 64 callers do                        what is left for one of them
//	id               call with the same tool_call_id           the id
//	run budget       call with ids of their own                the last call of the run
//	tool budget      call with ids of their own                the last call of the tool
//	capacity         call with ids of their own                the last bytes of the run, to the byte
//
// Each caller goes the whole way through a boundary of its process, with a tool
// that counts its entries. The parent opens the run and uses up what comes before
// the last unit; the processes join with its ticket, wait for one moment of the
// clock that all of them read, and let 16 goroutines go. After every round the
// parent looks with a plain client: one winner, READY; every other caller refused
// with the one right code, told that nothing ran; one entry of the body more;
// counters of the ledger equal to the admissions.
//
// # What runs when
//
//	go test ./race              60 rounds of each contest
//	FAULTS=full go test ./race  1,000 rounds of each contest
package race
