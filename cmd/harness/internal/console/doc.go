// Package console prints lines, and on a terminal one more line at the end that changes while something is going on.
//
//	on a terminal                      in a pipe or file
//	line                               line
//	line                               line
//	running sql_db_query (4 of 11)     (nothing)
//
// In a pipe nothing but plain lines ever appears: no control character, no line that is rewritten. On a terminal the
// last line never wraps, since a wrapped line could not be taken back. A write error is kept and returned by
// [Console.Err]; after it nothing is written, so a closed pipe ends quietly and the caller still learns of it.
//
//	out := console.For(os.Stdout)
//	out.Status("running %s", name)
//	out.Line("%-30s %s", name, state) // takes the status away first
//	return out.Err()
//
// Columns, breaks and cuts count the cells of a terminal, of which a Chinese character takes two.
//
// [Console.Strong] and [Console.Alert] mark a text on a terminal, once [Console.Colour] allows it, and leave it as it is
// everywhere else.
//
// Texts from a database or a model are made harmless by [Plain] before they are printed: a control character in them
// could move the cursor or change what was printed before. A Console is for one goroutine.
package console
