package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func raceSubtests() []subtest {
	return []subtest{
		{"K23_one_name_many_claims", 0, raceForName},
		{"K23_last_unit_of_a_budget", 0, raceForUnit},
		{"K23_last_bytes_of_the_capacity", 0, raceForBytes},
		{"K38_T36_two_endings", 0, raceToEnd},
		{"K38_K33_one_ending_sent_by_many", 0, raceSameEnding},
		{"K52_owner_against_sweep", 0, raceSweep},
	}
}

const (
	racers = 16
	rounds = 4
)

// race starts n goroutines at once and returns their errors.
func race(n int, do func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	done.Wait()
	return errs
}

// won counts the successes; every other answer must be the given refusal.
func (p *probe) won(what string, errs []error, otherwise error) int {
	p.T.Helper()
	n := 0
	for _, err := range errs {
		switch {
		case err == nil:
			n++
		case !errors.Is(err, otherwise):
			p.Errorf("%s: a loser was told %v, want %q", what, err, otherwise)
		}
	}
	return n
}

func raceForName(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	for round := range rounds {
		id := callID(round)
		admissions := make([]canonical.Admission, racers)
		for i := range racers {
			admissions[i] = p.admission(id, claimed(canonical.Claim(fmt.Sprintf("claim-%d-%d", round, i))))
		}
		errs := race(racers, func(i int) error {
			_, err := p.s.Admit(p.ctx, admissions[i])
			return err
		})
		if n := p.won("one name", errs, canonical.ErrDuplicate); n != 1 {
			p.Errorf("%d of %d admissions of one name created a record, want 1", n, racers)
		}
	}
	if got := p.state().LastSeq; got != rounds {
		p.Errorf("%d calls were charged, want %d", got, rounds)
	}
}

func raceForUnit(p *probe) {
	p.open(budget(3, canonical.Unlimited, canonical.Unlimited))
	p.admit("before", ofTool("rare", 2))
	admissions := make([]canonical.Admission, racers)
	for i := range racers {
		admissions[i] = p.admission(callID(i), ofTool("rare", 2))
	}
	admit := func(i int) error {
		_, err := p.s.Admit(p.ctx, admissions[i])
		return err
	}
	if n := p.won("last unit of the tool", race(racers, admit), canonical.ErrToolBudget); n != 1 {
		p.Errorf("%d of %d admissions got the last unit of the tool's budget, want 1", n, racers)
	}
	for i := range racers {
		admissions[i] = p.admission(callID(100 + i))
	}
	if n := p.won("last unit of the run", race(racers, admit), canonical.ErrRunBudget); n != 1 {
		p.Errorf("%d of %d admissions got the last unit of the run's budget, want 1", n, racers)
	}
}

func raceForBytes(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, 2*callReserve-1))
	admissions := make([]canonical.Admission, racers)
	for i := range racers {
		admissions[i] = p.admission(callID(i))
	}
	errs := race(racers, func(i int) error {
		_, err := p.s.Admit(p.ctx, admissions[i])
		return err
	})
	if n := p.won("last bytes", errs, canonical.ErrCapacity); n != 1 {
		p.Errorf("%d of %d admissions got room for one, want 1", n, racers)
	}
}

func raceToEnd(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	for round := range rounds {
		c := p.admit(callID(round))
		endings := make([]canonical.Ending, racers)
		for i := range racers {
			endings[i] = c.toolFailed()
			if i%2 == 0 {
				endings[i] = c.ready()
			}
			endings[i].Facts = canonical.Body(fmt.Sprintf(`["%d"]`, i))
		}
		errs := race(racers, func(i int) error {
			_, err := p.s.Complete(p.ctx, endings[i])
			return err
		})
		if n := p.won("two endings", errs, canonical.ErrConflict); n != 1 {
			p.Errorf("%d of %d different endings were accepted, want 1", n, racers)
		}
		for i, err := range errs {
			if got := p.record(c.Call); err == nil && (got.State != endings[i].Verdict.State || string(got.Facts) != string(endings[i].Facts)) {
				p.Errorf("the record is %s with facts %s; its winner sent %s with %s", got.State, []byte(got.Facts), endings[i].Verdict.State, []byte(endings[i].Facts))
			}
		}
	}
}

func raceSameEnding(p *probe) {
	p.open()
	c := p.admit("c1", reserving(callReserve))
	var mu sync.Mutex
	first := 0
	errs := race(racers, func(int) error {
		got, err := p.s.Complete(p.ctx, c.ready())
		mu.Lock()
		defer mu.Unlock()
		if err == nil && !got.Repeat {
			first++
		}
		return err
	})
	if n := p.won("one ending", errs, canonical.ErrConflict); n != racers || first != 1 {
		p.Errorf("%d of %d deliveries succeeded, %d as the first; want all, 1", n, racers, first)
	}
	if got, want := p.state().Reserved, held(c.Request, c.ready()); got != want {
		p.Errorf("%d bytes are in use, want %d", got, want)
	}
}

func raceSweep(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	var calls []call
	for i := range racers {
		calls = append(calls, p.admit(callID(i)))
	}
	p.h.Advance(dueTime + 2*grace)
	swept := make([][]canonical.Swept, racers)
	errs := race(racers, func(i int) error {
		if i%4 != 0 {
			_, err := p.s.Complete(p.ctx, calls[i].ready())
			return err
		}
		var err error
		swept[i], err = p.s.Sweep(p.ctx, canonical.Sweeping{Run: runKey(), Grace: grace, Max: 5})
		return err
	})
	ends := map[canonical.CallName]int{}
	for i := range racers {
		for _, s := range swept[i] {
			ends[s.Call]++
		}
		if i%4 != 0 && errs[i] == nil {
			ends[calls[i].Call]++
		}
	}
	p.won("owner against sweep", errs, canonical.ErrConflict)
	for _, c := range calls {
		state := p.head(c.Call).State
		if ended := state != lifecycle.Projecting; ended != (ends[c.Call] == 1) || ends[c.Call] > 1 {
			p.Errorf("%s is %s and was ended %d times, want one ending each", c.Call, state, ends[c.Call])
		}
	}
}
