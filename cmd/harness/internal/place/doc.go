// Package place opens the store of a command that shows what the boundary does, and looks at it from outside.
//
//	address        store                            what is left
//	none           embedded, in this process        nothing, once it is closed
//	a Redis        that server                      the keys of the runs, unless they are removed
//	a directory    local, in a file in it           the runs, until they expire
//
// What a command states about its records is worth more where another client confirms it: [Place.Again] is a second store
// with its own connection, [Outside] a bare client that knows of the store nothing but the documented beginning of a
// run's keys. Both also work on the embedded server, which listens on loopback. A local store's file belongs to one process
// at a time, so there the store tells of itself, and it is the next process that confirms it: [OpenKept].
//
// Keys are removed run by run, or those of a whole series of runs at once whose ids begin alike. No other key is touched.
// Nothing here repeats an address, which may hold a password.
//
//	p, err := place.Open(ctx, place.Where{Redis: address})
//	if err != nil {
//		return err
//	}
//	defer p.Close()
//	b, err := boundary.New(boundary.Config{Store: p.Store, Now: p.Now, ...})
//	...
//	err = p.Outside.RemoveSeries(ctx, scope, "replay-"+chance)
package place
