package proxy

import (
	"bufio"
	"fmt"
	"strings"
)

// command is one command on its way to the server.
type command struct {
	frame
	verb   string // in capitals; empty for an inline command
	script string // name of the script that it runs
	strike *Trap  // what waits for it, or for its reply
}

// unit is what is passed on as a whole: one command, or a MULTI to its EXEC.
type unit struct{ commands []*command }

func (u *unit) transaction() bool { return u.commands[0].verb == "MULTI" }

func (u *unit) last() *command { return u.commands[len(u.commands)-1] }

func (u *unit) carries(script string) bool {
	for _, c := range u.commands {
		if c.script != "" && c.script == script {
			return true
		}
	}
	return false
}

// maxUnit bounds the commands of one transaction.
const maxUnit = 10_000

// readUnit reads the next unit. A transaction is held back until it is whole,
// since what its HSET is for is known only by the script that follows.
func readUnit(r *bufio.Reader, scripts *Scripts) (*unit, error) {
	u := &unit{}
	for len(u.commands) < maxUnit {
		f, err := readFrame(r)
		if err != nil {
			return nil, err
		}
		c := &command{frame: *f}
		if f.kind() == '*' {
			c.verb = strings.ToUpper(f.bulk(0))
			c.script = scripts.of(c.verb, f)
		}
		u.commands = append(u.commands, c)
		if !u.transaction() || c.verb == "EXEC" || c.verb == "DISCARD" {
			return u, nil
		}
	}
	return nil, fmt.Errorf("%w: a transaction without an end", errFrame)
}
