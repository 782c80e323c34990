// Package workers runs a part of a test in processes of its own: the test binary
// starts itself again, and the two speak JSON values over the child's standard
// input and output.
//
// A child is a real process with memory, connections and clocks of its own, so
// it can be killed, stopped and continued. It ends by itself when its parent is
// gone: its input ends then, and every role reads until that.
//
//	func TestMain(m *testing.M) {
//		workers.Main(map[string]workers.Role{"racer": race})
//		os.Exit(m.Run())
//	}
//
//	w, err := workers.Start("racer")
//	err = w.Send(order)
//	err = w.Receive(&answer)
//	err = w.Close()
//
// Not guaranteed: a child that is stopped by a signal while its parent dies stays
// stopped. What a role prints to standard output is part of the conversation.
package workers
