package kill

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/toolharness/harness/faults/internal/workers"
)

// killIn starts a process that makes the calls up to one, and kills it there.
func (c *campaign) killIn(v *victims, i int) error {
	one := v.list[i]
	o := c.order(v)
	o.Watch = i
	if one.held {
		o.Hold = one.phase
	}
	w, err := workers.Start(RoleName)
	if err != nil {
		return err
	}
	last, err := listen(w, o, v, one)
	if err := errors.Join(err, killed(w.Reap())); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.histogram[last]++
	if one.held && last != one.phase {
		v.lines[i].Broken += fmt.Sprintf("held in %q, and the last word was %q; ", one.phase, last)
	}
	return nil
}

// listen hears a child out: it is killed when its phase has come, or when it has
// nothing more to say, and may have said more until then.
func listen(w *workers.Worker, o Order, v *victims, one victim) (Phase, error) {
	if err := w.Send(o); err != nil {
		return "", errors.Join(err, w.Kill())
	}
	var last Phase
	var timer *time.Timer
	kill := func() { _ = w.Kill() } // one that is gone already is what we want
	for {
		var word Word
		err := w.Receive(&word)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if timer == nil && last == "" {
				return "", errors.New("kill: a process ended before it made its call")
			}
			return last, nil
		case err != nil:
			return "", errors.Join(err, w.Kill())
		case word.Done:
			kill()
		case word.Phase == "":
			if word.Call == o.Watch {
				last = Told
			}
			v.heard(word)
		default:
			last = word.Phase
		}
		if word.Phase == one.phase && timer == nil {
			timer = time.AfterFunc(time.Duration(one.wait()*float64(time.Millisecond)), kill)
		}
	}
}

// wait is how long the kill waits, in ms. One that is held waits for nothing.
func (v victim) wait() float64 {
	if v.held {
		return 0
	}
	return v.delay
}

// leaveAlone has a process make all calls again, and look all of them up.
func (c *campaign) leaveAlone(v *victims) error {
	o := c.order(v)
	o.LookUp = true
	w, err := workers.Start(RoleName)
	if err != nil {
		return err
	}
	if err := w.Send(o); err != nil {
		return errors.Join(err, w.Kill(), w.Reap())
	}
	for {
		var word Word
		if err := w.Receive(&word); err != nil {
			return errors.Join(err, w.Kill(), w.Reap())
		}
		if word.Done {
			break
		}
		v.heard(word)
	}
	err = w.Kill()
	return errors.Join(err, killed(w.Reap()))
}

// killed is nil for a process that ended as it should.
func killed(end error) error {
	if end != nil && end.Error() == "signal: killed" {
		return nil
	}
	return fmt.Errorf("kill: a process was not killed but ended: %v", end)
}
