package findings_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/lifecycle"
)

// ticketed is a result for which a ticket was served.
func ticketed(t *testing.T, id string) (findings.Mark, findings.Served) {
	t.Helper()
	ticket, err := findings.PlacedTicket(evidence.Reference{EvidenceID: "e1"}, "too long for this turn")
	if err != nil {
		t.Fatal(err)
	}
	return findings.MarkExecuted(call(id), textOf(id)).Withheld(ticket),
		findings.Served{ID: id, Texts: []string{findings.TextDigest([]byte(ticket.Text()))}}
}

// One request with one of everything; each id says what it is.
func mixed(t *testing.T) findings.Capture {
	c := executed("found", "older", "twice", "twice", "rewritten")
	c.Continues = []canonical.RunID{"before"}
	before := canonical.RunKey{Scope: run.Scope, Run: "before"}
	strangers := canonical.RunKey{Scope: canonical.Scope{Tenant: "t2"}, Run: "now"}
	c.Served[4].Texts = []string{findings.TextDigest([]byte("a summary"))}
	mark, sent := ticketed(t, "ticket")
	c.Marks, c.Served = append(c.Marks, mark), append(c.Served, sent)
	c.Records = append(c.Records, found(call("ticket")))
	add := func(m findings.Mark, records ...findings.Record) {
		c.Marks = append(c.Marks, m)
		c.Served = append(c.Served, served(string(m.Call.Call.ID))...)
		c.Records = append(c.Records, records...)
	}
	executed := func(id canonical.Identity) findings.Mark {
		return findings.MarkExecuted(id, textOf(string(id.Call.ID)))
	}
	add(executed(call("absent")), absent(call("absent")))
	add(executed(call("open")), findings.Record{Call: call("open"), State: lifecycle.Projecting})
	add(executed(call("failed")), findings.Record{Call: call("failed"), State: lifecycle.Error})
	add(executed(call("gone")), findings.Record{Call: call("gone")})
	add(executed(call("corrupt")), findings.Record{Call: call("corrupt"), Unreadable: true})
	add(executed(call("unread")))
	add(findings.MarkNotDispatched(call("notice"), textOf("notice")), found(call("notice")))
	add(findings.Mark{Call: call("unsaid")}, found(call("unsaid")))
	add(executed(in(before, "earlier")), found(in(before, "earlier")))
	add(executed(in(other, "foreign")), found(in(other, "foreign")))
	add(executed(in(strangers, "tenant")), found(in(strangers, "tenant")))
	add(executed(call("marks")), found(call("marks")))
	c.Marks = append(c.Marks, executed(in(before, "marks")))
	c.Served = append(c.Served, served("unmarked", "")...)
	c.Marks = append(c.Marks, executed(call("windowed"))) // in the transcript, and not in the request
	c.Records = append(c.Records, found(call("windowed")))
	return c
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	w := witness(t, mixed(t))
	for _, c := range []struct {
		name, id       string
		fact, ruledOut string
		open           string
		body           findings.Body
	}{
		{"T80_F01_F36_served_once_and_executed", "found", "-fact", "-fact", "-identity", findings.BodyServed},
		{"T77_F01_B98_never_served", "never-served", "NOT_SERVED", "NOT_SERVED", "NOT_SERVED", ""},
		{"T83_F07_sibling_of_the_same_message", "sibling", "NOT_SERVED", "NOT_SERVED", "NOT_SERVED", ""},
		{"T85_F07_B98_left_out_of_the_request_by_a_window", "windowed", "NOT_SERVED", "NOT_SERVED", "NOT_SERVED", ""},
		{"T86_F07_B98_of_another_run", "foreign", "OTHER_RUN", "OTHER_RUN", "OTHER_RUN", findings.BodyServed},
		{"T86_B98_of_another_tenant", "tenant", "OTHER_RUN", "OTHER_RUN", "OTHER_RUN", findings.BodyServed},
		{"T87_F14_F43_notice", "notice", "NOT_DISPATCHED", "NOT_DISPATCHED", "NOT_DISPATCHED", findings.BodyServed},
		{"T89_F12_ticket", "ticket", "-fact", "-fact", "-identity", findings.BodyWithheld},
		{"T90_F13_rewritten", "rewritten", "-fact", "-fact", "-identity", findings.BodyUnknown},
		{"T107_F29_of_a_run_that_this_one_continues", "earlier", "-fact", "-fact", "-identity", findings.BodyServed},
		{"T110_B98_failed", "failed", "RECORD_FAILED", "RECORD_FAILED", "-identity", findings.BodyServed},
		{"T111_B98_found_nothing", "absent", "-absence", "-absence", "-identity", findings.BodyServed},
		{"B98_still_open", "open", "RECORD_OPEN", "RECORD_OPEN", "-identity", findings.BodyServed},
		{"B98_expired", "gone", "RECORD_GONE", "RECORD_GONE", "-identity", findings.BodyServed},
		{"F16_record_unreadable", "corrupt", "RECORD_UNREADABLE", "RECORD_UNREADABLE", "-identity", findings.BodyServed},
		{"F16_record_not_read", "unread", "RECORD_NOT_READ", "RECORD_NOT_READ", "-identity", findings.BodyServed},
		{"F15_twice_with_equal_bodies", "twice", "AMBIGUOUS", "AMBIGUOUS", "AMBIGUOUS", findings.BodyServed},
		{"F15_two_results_could_be_meant", "marks", "AMBIGUOUS", "AMBIGUOUS", "AMBIGUOUS", findings.BodyUnknown},
		{"F16_nobody_says_what_it_is", "unmarked", "UNMARKED", "UNMARKED", "UNMARKED", findings.BodyUnknown},
		{"F16_its_mark_does_not_say", "unsaid", "UNMARKED", "UNMARKED", "UNMARKED", findings.BodyUnknown},
		{"F42_without_an_id", "", "NOT_SERVED", "NOT_SERVED", "NOT_SERVED", ""},
		{"F40_not_by_tool_name_or_case", "FOUND", "NOT_SERVED", "NOT_SERVED", "NOT_SERVED", ""},
		{"F40_not_by_position", "0", "NOT_SERVED", "NOT_SERVED", "NOT_SERVED", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for standing, want := range map[findings.Standing]string{
				findings.StandingFact: c.fact, findings.StandingRuledOut: c.ruledOut,
				findings.StandingOpen: c.open, findings.StandingNoise: c.open, "": c.open,
			} {
				a := findings.Admit(w, cite(standing, c.id))
				same(t, fmt.Sprintf("standing %q", standing), reasons(a), want)
				same(t, "refused", a.Refused(), !strings.HasPrefix(want, "-"))
				same(t, "body", a.Verdicts[0].Body, c.body)
			}
		})
	}
	t.Run("T111_the_coverage_stands_beside_an_absence", func(t *testing.T) {
		t.Parallel()
		v := findings.Admit(w, cite(findings.StandingFact, "absent")).Verdicts[0]
		same(t, "coverage", v.Coverage, absent(call("absent")).Coverage)
	})
	t.Run("F14_a_notice_has_an_identity", func(t *testing.T) {
		t.Parallel()
		v := findings.Admit(w, cite(findings.StandingFact, "notice")).Verdicts[0]
		same(t, "identity", []any{v.Run, v.Call}, []any{run.Run, call("notice").Call})
	})
}

// F06: of two attempts, the witness is the one of the request that was answered.
func TestF06_F07_a_failed_attempt_lends_nothing(t *testing.T) {
	t.Parallel()
	failed, answered := executed("a", "b"), executed("b")
	same(t, "in the failed attempt", reasons(findings.Admit(witness(t, failed), cite(findings.StandingFact, "a", "b"))), "-fact -fact")
	same(t, "in the answered one", reasons(findings.Admit(witness(t, answered), cite(findings.StandingFact, "a", "b"))), "NOT_SERVED -fact")
}

// F09, F10: what decides is a digest of what was sent and the host's own ticket.
func TestT89_F09_F10_F44_content_that_looks_like_a_ticket_has_no_authority(t *testing.T) {
	t.Parallel()
	ticket, err := findings.CollapsedTicket(call("real").Call, findings.StandingNoise)
	if err != nil {
		t.Fatal(err)
	}
	c := executed("forged", "real")
	forged := findings.TextDigest([]byte(ticket.Text()))
	c.Served[0].Texts, c.Marks[0].Text = []string{forged}, forged // the tool returned these very bytes
	c.Marks[1] = c.Marks[1].Withheld(ticket)
	c.Served[1].Texts = []string{forged}
	a := findings.Admit(witness(t, c), cite(findings.StandingFact, "forged", "real"))
	same(t, "admitted", reasons(a), "-fact -fact")
	same(t, "bodies", []any{a.Verdicts[0].Body, a.Verdicts[1].Body}, []any{findings.BodyServed, findings.BodyWithheld})
	c.Marks[0].Text = findings.TextDigest([]byte(textOf("forged"))) // somebody else put them there
	a = findings.Admit(witness(t, c), cite(findings.StandingFact, "forged"))
	same(t, "body", a.Verdicts[0].Body, findings.BodyUnknown)
}

func TestF44_tickets_need_all_their_parts(t *testing.T) {
	t.Parallel()
	_, noRef := findings.PlacedTicket(evidence.Reference{}, "why")
	_, noReason := findings.PlacedTicket(evidence.Reference{EvidenceID: "e"}, " \n")
	_, noStanding := findings.CollapsedTicket(call("a").Call, "settled")
	_, noID := findings.CollapsedTicket(canonical.CallName{}, findings.StandingNoise)
	for i, err := range []error{noRef, noReason, noStanding, noID} {
		if err == nil {
			t.Errorf("ticket %d was made", i)
		}
	}
	placed, err := findings.PlacedTicket(evidence.Reference{EvidenceID: "e1"}, "too\nlong")
	same(t, "placed", []any{placed.Text(), err}, []any{`{"placed":true,"ref":"e1","reason":"too long"}`, nil})
	collapsed, err := findings.CollapsedTicket(call("a").Call, findings.StandingRuledOut)
	same(t, "collapsed", []any{collapsed.Text(), err}, []any{`{"collapsed":true,"standing":"ruled-out","toolCallId":"a"}`, nil})
}

func ids(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("c%d", i)
	}
	return all
}

func TestT91_F17_bounds_of_the_capture(t *testing.T) {
	t.Parallel()
	long := func(n, length int) []string {
		all := ids(n)
		for i := range all {
			all[i] += strings.Repeat("x", length-len(all[i]))
		}
		return all
	}
	for _, c := range []struct {
		name    string
		capture func() findings.Capture
		cites   string
		want    string
	}{
		{"T91_4096_ids", func() findings.Capture { return executed(ids(4096)...) }, "c4095", "-fact"},
		{"T91_4097_ids", func() findings.Capture { return executed(ids(4097)...) }, "c7", "WITNESS_OVERFLOW"},
		{"T91_4097_served_of_which_few_are_marked", func() findings.Capture {
			c := executed(ids(4097)...)
			c.Marks, c.Records = c.Marks[:2], c.Records[:2]
			return c
		}, "c1", "WITNESS_OVERFLOW"},
		{"T91_4097_marked_of_which_few_are_served", func() findings.Capture {
			c := executed(ids(4097)...)
			c.Served = c.Served[:2]
			return c
		}, "c1", "WITNESS_OVERFLOW"},
		{"F17_4097_results_of_4096_ids", func() findings.Capture { return executed(append(ids(4096), "c0")...) }, "c1", "-fact"},
		{"F17_65536_characters", func() findings.Capture { return executed(long(64, 512)...) }, long(64, 512)[9], "-fact"},
		{"F17_65537_characters", func() findings.Capture {
			c := executed(long(64, 512)...)
			c.Served = append(c.Served, findings.Served{ID: "y"})
			return c
		}, long(64, 512)[9], "WITNESS_OVERFLOW"},
		{"F17_repetitions_count", func() findings.Capture {
			c := executed(long(64, 512)...)
			c.Marks, c.Records = c.Marks[1:], c.Records[1:]
			c.Served = append(c.Served, c.Served[0], c.Served[0])
			return c
		}, long(64, 512)[9], "WITNESS_OVERFLOW"},
		{"F17_characters_are_code_points", func() findings.Capture {
			c := executed("a")
			c.Served = append(c.Served, findings.Served{ID: strings.Repeat("é", 65534)})
			return c
		}, "a", "-fact"},
		{"F17_one_code_point_more", func() findings.Capture {
			c := executed("a")
			c.Served = append(c.Served, findings.Served{ID: strings.Repeat("é", 65535)})
			return c
		}, "a", "WITNESS_OVERFLOW"},
		{"F42_results_without_an_id_count_for_nothing", func() findings.Capture {
			c := executed(ids(4096)...)
			c.Served = append(c.Served, make([]findings.Served, 9999)...)
			return c
		}, "c1", "-fact"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := witness(t, c.capture())
			same(t, "cited", reasons(findings.Admit(w, cite(findings.StandingFact, c.cites))), c.want)
			if c.want == "WITNESS_OVERFLOW" {
				same(t, "never served", reasons(findings.Admit(w, cite("", "nowhere"))), c.want)
				same(t, "offer", findings.NewOffer(w, nil), findings.Offer{})
			}
			same(t, "without a citation", findings.Admit(w, findings.Declaration{}).Refused(), false)
		})
	}
}

func TestT93_F16_without_a_witness(t *testing.T) {
	t.Parallel()
	same(t, "cited", reasons(findings.Admit(nil, cite("", "a"))), "NO_WITNESS")
	same(t, "not cited", findings.Admit(nil, findings.Declaration{}).Refused(), false)
	same(t, "only a basis", findings.Admit(nil, declared(t, `{"basis":"direct"}`)).Refused(), false)
	c := executed("a")
	c.Incomplete = true
	same(t, "in part", reasons(findings.Admit(witness(t, c), cite("", "a"))), "WITNESS_INCOMPLETE")
}

// T79, F05: each call of a message has its own admission.
func TestT79_F05_a_sibling_is_not_touched(t *testing.T) {
	t.Parallel()
	w := witness(t, executed("a"))
	first, second := findings.Admit(w, cite(findings.StandingFact, "a", "made-up")), findings.Admit(w, cite(findings.StandingFact, "a"))
	same(t, "first", []any{first.Refused(), reasons(first)}, []any{true, "-fact NOT_SERVED"})
	same(t, "second", second.Refused(), false)
}

// T77, F20: what the model reads is constant, and exists.
func TestT77_F20_the_refusal_is_constant(t *testing.T) {
	t.Parallel()
	info, ok := findings.Code.Info()
	if !ok || info.Message == "" || strings.ContainsAny(info.Message, "%{") {
		t.Fatalf("code %s: %+v", findings.Code, info)
	}
	same(t, "executions", []any{info.Refused, info.HasRecord(), info.NewCallHelps}, []any{[]lifecycle.Execution{lifecycle.NotStarted}, false, true})
}

func TestT112_F03_same_verdict_a_thousand_times_and_in_parallel(t *testing.T) {
	t.Parallel()
	w := witness(t, mixed(t))
	d := cite(findings.StandingFact, "found", "twice", "absent", "never", "foreign", "notice", "ticket")
	want := fmt.Sprintf("%#v", findings.Admit(w, d).Verdicts)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 125 {
				if got := fmt.Sprintf("%#v", findings.Admit(w, d).Verdicts); got != want {
					t.Errorf("got %s, want %s", got, want)
					return
				}
			}
		})
	}
	wait.Wait()
}

// A verdict owns its coverage: a host that changes one changes no other.
func TestF03_verdicts_share_nothing(t *testing.T) {
	t.Parallel()
	c := mixed(t)
	w := witness(t, c)
	first := findings.Admit(w, cite(findings.StandingFact, "absent")).Verdicts[0]
	first.Coverage.Checked[0] = "changed"
	for i := range c.Records {
		c.Records[i].Coverage.Checked = []string{"changed"}
	}
	second := findings.Admit(w, cite(findings.StandingFact, "absent")).Verdicts[0]
	same(t, "coverage", second.Coverage.Checked, []string{"log topic app"})
}

func TestF48_events_have_identities_words_and_counts(t *testing.T) {
	t.Parallel()
	w := witness(t, executed("a"))
	d := declared(t, `{"basis":"sekret","previous":[{"toolCallId":"a","line":"sekret"},{"toolCallId":"sekret"},{"toolCallId":"sekret2"},{"toolCallID":"x"}]}`)
	e := findings.Admit(w, d).Event(call("p"))
	want := findings.Event{Call: call("p"), Citations: 3, Dropped: 2,
		Reasons: []findings.ReasonCount{{Reason: findings.NotServed, Count: 2}, {Reason: findings.Malformed, Count: 1}}}
	same(t, "event", e, want)
	for _, text := range []string{fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", findings.Admit(w, d)), fmt.Sprintf("%v %+v", w, w)} {
		if strings.Contains(text, "sekret") {
			t.Errorf("%s has a word of the model", text)
		}
	}
}

func TestNewWitness_refuses_what_no_host_can_mean(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*findings.Capture){
		"run[0]":       func(c *findings.Capture) { c.Run.Run = "" },
		"continues[1]": func(c *findings.Capture) { c.Continues = []canonical.RunID{"ok", "not ok"} },
		"marks[1]":     func(c *findings.Capture) { c.Marks[1].Call.Call.ID = "" },
		"marks[0]":     func(c *findings.Capture) { c.Marks[0].Dispatch = "done" },
		"marks[0] ":    func(c *findings.Capture) { c.Marks[0].Text = "ABC" },
		"records[0]":   func(c *findings.Capture) { c.Records[0].State = "DONE" },
		"records[0] ":  func(c *findings.Capture) { c.Records[0].Status = evidence.Failed },
		"records[1]":   func(c *findings.Capture) { c.Records[1] = c.Records[0] },
		"records[1] ":  func(c *findings.Capture) { c.Records[1].Status = evidence.None },
		"records[0]  ": func(c *findings.Capture) { c.Records[0].Unreadable = true },
		"records[0]   ": func(c *findings.Capture) {
			c.Records[0].State = lifecycle.Projecting // and it has found something
		},
	} {
		c := executed("aaaa", "bbbb")
		change(&c)
		w, err := findings.NewWitness(c)
		if err == nil || w != nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) || strings.Contains(err.Error(), "aaaa") {
			t.Errorf("%s: got %v, %v", name, w, err)
		}
	}
}

func TestRecordOf(t *testing.T) {
	t.Parallel()
	encoded, err := evidence.EncodeCoverage(evidence.Searched("x", "here"))
	if err != nil {
		t.Fatal(err)
	}
	head := func(state lifecycle.State, status evidence.Status) canonical.Head {
		return canonical.Head{Identity: call("a"), State: state, Evidence: status}
	}
	none := head(lifecycle.Ready, evidence.None)
	unproved := none
	none.Coverage = encoded
	newer := canonical.Head{Identity: call("a"), Fault: canonical.ErrNewerVersion}
	another := head(lifecycle.Ready, evidence.Found)
	another.Identity = call("b")
	for name, c := range map[string]struct {
		head canonical.Head
		want findings.Record
	}{
		"found":              {head(lifecycle.Ready, evidence.Found), found(call("a"))},
		"none":               {none, findings.Record{Call: call("a"), State: lifecycle.Ready, Status: evidence.None, Coverage: evidence.Searched("x", "here")}},
		"none, unproved":     {unproved, findings.Record{Call: call("a"), Unreadable: true}},
		"error":              {head(lifecycle.Error, evidence.Failed), findings.Record{Call: call("a"), State: lifecycle.Error}},
		"open":               {head(lifecycle.Projecting, ""), findings.Record{Call: call("a"), State: lifecycle.Projecting}},
		"missing":            {canonical.Head{}, findings.Record{Call: call("a")}},
		"newer":              {newer, findings.Record{Call: call("a"), Unreadable: true}},
		"another":            {another, findings.Record{Call: call("a"), Unreadable: true}},
		"ready, not judged":  {head(lifecycle.Ready, ""), findings.Record{Call: call("a"), Unreadable: true}},
		"of a later version": {head("LATER", ""), findings.Record{Call: call("a"), Unreadable: true}},
	} {
		same(t, name, findings.RecordOf(call("a"), c.head), c.want)
	}
}

// F11, F41 to F43: what is offered is what Admit would admit, and no more than that.
func TestOffer(t *testing.T) {
	t.Parallel()
	t.Run("T81_F11_F41_older_than_the_offer_and_still_citable", func(t *testing.T) {
		t.Parallel()
		w := witness(t, executed(ids(40)...))
		offer := findings.NewOffer(w, nil)
		same(t, "length", []any{len(offer.IDs), offer.Omitted, offer.IDs[0].ID, offer.IDs[31].ID}, []any{findings.MaxOffered, 8, "c39", "c8"})
		same(t, "cited", reasons(findings.Admit(w, cite(findings.StandingFact, "c0"))), "-fact")
		if !strings.HasSuffix(offer.Text(), "8 older ones are not listed.\n") {
			t.Errorf("got %q", offer.Text())
		}
	})
	t.Run("F41_F42_F43_newest_first_each_once_without_notices", func(t *testing.T) {
		t.Parallel()
		w := witness(t, mixed(t))
		var got []string
		for _, o := range findings.NewOffer(w, nil).IDs {
			got = append(got, fmt.Sprintf("%s=%s", o.ID, o.As))
			if findings.Admit(w, cite("", string(o.ID))).Refused() {
				t.Errorf("%s is offered and refused", o.ID)
			}
		}
		want := []string{"earlier=fact", "unread=identity", "corrupt=identity", "gone=identity", "failed=identity", "open=identity",
			"absent=absence", "ticket=fact", "rewritten=fact", "older=fact", "found=fact"}
		same(t, "offer", got, want)
	})
	t.Run("F41_noise_and_ruled_out_leave_it", func(t *testing.T) {
		t.Parallel()
		w := witness(t, executed("f", "o", "n", "r", "x"))
		var l findings.Ledger
		for id, standing := range map[string]findings.Standing{"f": "fact", "o": "open", "n": "noise", "r": "ruled-out"} {
			l.File(findings.Origin{Call: call("p").Call}, findings.Admit(w, cite(standing, id)))
		}
		// A refused proposal retires nothing.
		l.File(findings.Origin{Call: call("q").Call}, findings.Admit(w, cite(findings.StandingNoise, "x", "made-up")))
		var got []string
		for _, o := range findings.NewOffer(w, &l).IDs {
			got = append(got, string(o.ID))
		}
		same(t, "offer", got, []string{"x", "o", "f"})
	})
	t.Run("F16_none_without_a_witness", func(t *testing.T) {
		t.Parallel()
		same(t, "offer", findings.NewOffer(nil, nil), findings.Offer{})
		same(t, "text", findings.Offer{}.Text(), "")
	})
}

// The order of marks and records is the host's affair.
func TestF03_order_of_the_hosts_part_does_not_matter(t *testing.T) {
	t.Parallel()
	c := mixed(t)
	d := cite(findings.StandingFact, "found", "twice", "absent", "marks", "foreign", "notice", "ticket")
	want := fmt.Sprintf("%#v", findings.Admit(witness(t, c), d).Verdicts)
	slices.Reverse(c.Marks)
	slices.Reverse(c.Records)
	same(t, "verdicts", fmt.Sprintf("%#v", findings.Admit(witness(t, c), d).Verdicts), want)
}
