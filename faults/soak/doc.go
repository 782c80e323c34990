// Package soak lets Harness work for minutes on a Redis that is not left in
// peace, looks at every run from outside, and watches the memory of both.
//
//	lanes      open a run, make 16 calls (reads, writes, unknown effects; 300 bytes to
//	           1.3 MiB), each now and then a second time; close, shut down, look, delete
//	faults     requests and replies lost below the client; connections killed by the
//	           server; SCRIPT FLUSH; the server ended and started again, now by
//	           SIGTERM, now by SIGKILL and not back for two seconds, from a file that
//	           is synced at every write
//	samples    live heap and goroutines of this process, used memory and keys of Redis
//
// Records live for 20 seconds and ledgers for 90, so that after a while as much
// goes as comes.
//
// # What must hold
//
// For each run, once its boundary has been shut down, read with a plain client:
// sequence, order, guards and counters equal the admissions, bytes equal what
// the records hold; each record is READY, ERROR or listed as open; READY was told
// READY, or settled, and has the digest of what the tool returned; what was told
// of "ran" agrees with the entries of the body; each key has the expiry that it
// was born with.
//
// At the end: the file of entries has no line twice, and as many as the tools
// counted; what was left open is swept; no key is without an expiry.
//
// The mean of each measure in the last third of the time is not above that of the
// second third by more than a tenth and a fixed allowance. That is asked only of
// a soak that lasts [LevelTime] or longer; a shorter one prints the same table.
//
// # What runs when
//
//	go test ./soak    1,500 calls, as fast as they go; the server is ended 4 times
//	make soak         36,000 calls, 150 a second, four minutes; the server is ended 10 times;
//	                  SOAK_CALLS and SOAK_RATE change the numbers
package soak
