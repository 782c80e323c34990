package history_test

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/toolharness/harness/faults/history"
	"github.com/toolharness/harness/faults/internal/cuts"
)

// broken are stores that are whole but for one line of one script.
var broken = []struct {
	name string
	history.Broken
}{
	{"K13_K23_two_winners_of_one_name", history.Broken{
		Old: "if state or guard then return {'duplicate', state or ''} end",
		New: ""}},
	{"K20_a_unit_of_a_tool_budget_lost", history.Broken{
		Old: "'u:' .. tool, text(uses),",
		New: "'u:' .. tool, text(uses - 1),"}},
	{"K20_one_call_more_than_the_run_budget", history.Broken{
		Old: "calls > tonumber(run_budget)",
		New: "calls > tonumber(run_budget) + 1"}},
	{"K52_an_ending_wins_over_an_earlier_sweep", history.Broken{
		Old: "if by == 'sweep' then return refuse('swept', state, ends or '0') end",
		New: "if by == 'sweep' then state = 'PROJECTING' end"}},
	{"K06_admission_after_close", history.Broken{
		Old: "if phase ~= 'open' then return {phase} end",
		New: ""}},
	{"K34_a_second_and_different_ending_accepted", history.Broken{
		Old: "if state ~= 'PROJECTING' then return refuse('conflict', state) end",
		New: ""}},
	{"K33_K53_a_repeated_ending_refused", history.Broken{
		Old: "return refuse('repeat')",
		New: "return refuse('conflict', state)"}},
	{"K14_K70_the_guard_goes_with_its_record", history.Broken{
		Old: "redis.call('DEL', record)",
		New: "redis.call('DEL', record) redis.call('HDEL', ledger, 'c:' .. name)"}},
	{"K22_no_barrier", history.Broken{
		Old: "if redis.call('ZCOUNT', effects, '-inf', text(now)) > 0 then return {'unresolved'} end",
		New: ""}},
	{"K37_an_unknown_outcome_raises_no_barrier", history.Broken{
		Old: "if execution == 'unknown' then redis.call('ZADD', effects, 'XX', '0', name) else redis.call('ZREM', effects, name) end",
		New: "redis.call('ZREM', effects, name)"}},
	{"K30_a_saved_result_forgotten", history.Broken{
		Old: "redis.call('HSET', record, unpack(fields))\nredis.call('ZREM', effects, name)\nreturn {'saved'}",
		New: "return {'saved'}"}},
	{"K21_capacity_not_given_back_by_an_ending", history.Broken{
		Old: "if phase then redis.call('HINCRBY', ledger, 'rs', text(held - tonumber(reserve))) end",
		New: ""}},
	{"K11_a_repeated_admission_charged_again", history.Broken{
		Old: "if state and holder == claim then\n",
		New: "if state and holder == claim then redis.call('HINCRBY', ledger, 'rs', ARGV[9])\n"}},
	{"K18_a_late_message_admitted", history.Broken{
		Old: "if now > not_after then return {'too_late'} end",
		New: ""}},
}

// brokenLimit is how many histories a broken store may pass before the test says
// that it is not noticed. Most are noticed in the first.
const brokenLimit = 30

// TestStore_with_a_broken_clause shows that the checker sees what it is there
// for: no history of a broken store may stay unnoticed for long.
func TestStore_with_a_broken_clause(t *testing.T) {
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c := conduct(t, cuts.Odds{}, &b.Broken)
			var sent int64
			for seed := range brokenLimit {
				report, err := c.Make(uint64(seed))
				if err != nil {
					t.Fatal(err)
				}
				sent += report.Broke
				if result := history.Check(report.Operations, checkLimit); result == porcupine.Illegal {
					if sent == 0 {
						t.Fatal("rejected, although no script had the line that was to be broken")
					}
					t.Logf("rejected in history %d, after %d broken scripts", seed, sent)
					return
				}
			}
			t.Errorf("%d histories of a store without this clause were accepted (%d broken scripts sent), want one rejected", brokenLimit, sent)
		})
	}
}
