package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

func byteSubtests() []subtest {
	return []subtest{
		{"K24_arguments_are_not_kept", 0, argumentsNotKept},
		{"K24_results_are_not_shared", 0, resultsNotShared},
		{"K36_bodies_of_any_bytes", 0, anyBytes},
		{"K36_bodies_of_any_size", 0, anySize},
		{"K36_a_result_too_large_to_keep", 0, tooLargeToKeep},
		{"K36_P12_a_piece_is_lost_on_its_way", needsDropPiece, lostPiece},
	}
}

// spoil overwrites bytes, as a caller may that uses its buffers again.
func spoil(bodies ...[]byte) {
	for _, b := range bodies {
		for i := range b {
			b[i] = 'X'
		}
	}
}

func argumentsNotKept(p *probe) {
	o := opening()
	o.Continues = []canonical.RunID{"earlier"}
	_, err := p.s.OpenRun(p.ctx, o)
	p.must("OpenRun", err)
	o.Continues[0] = "spoiled"
	p.same("continues", p.state().Continues, []canonical.RunID{"earlier"})

	c, saved := p.admit("c1"), p.admit("saved")
	want := string(c.Request)
	spoil(c.Request)
	m := saved.saving("the raw result")
	p.save(m)
	spoil(m.Raw.Bytes)
	e := c.ready()
	p.complete(e)
	spoil(e.Raw.Bytes, e.Agent, e.Facts, e.Coverage)
	r, sent := p.record(c.Call), c.ready()
	for _, b := range []struct{ what, got, want string }{
		{"request", string(r.Request), want}, {"raw", string(r.Raw.Bytes), string(sent.Raw.Bytes)}, {"agent result", string(r.Agent), string(sent.Agent)},
		{"facts", string(r.Facts), string(sent.Facts)}, {"coverage", string(r.Coverage), string(sent.Coverage)},
		{"saved raw", string(p.record(saved.Call).Raw.Bytes), "the raw result"},
	} {
		if b.got != b.want {
			p.Errorf("%s = %q after the caller used its buffer again, want %q", b.what, b.got, b.want)
		}
	}
}

func resultsNotShared(p *probe) {
	p.open()
	c, late := p.admit("c1"), p.admit("late")
	p.complete(c.ready())
	p.h.Advance(dueTime + 2*grace)
	p.sweep()
	_, err := p.s.Settle(p.ctx, late.ready())
	p.must("Settle", err)

	r := p.record(c.Call)
	spoil(r.Request, r.Raw.Bytes, r.Agent, r.Facts, r.Coverage)
	view, err := p.s.View(p.ctx, runKey(), c.Call)
	p.must("View", err)
	spoil(view.Agent, view.Facts, view.Coverage)
	head := p.head(c.Call)
	spoil(head.Facts, head.Coverage)
	p.sameBodies(c, c.ready()) // and not with an earlier answer, which might be the same memory

	settled, err := p.s.SettlementOf(p.ctx, runKey(), late.Call)
	p.must("SettlementOf", err)
	spoil(settled.Late.Raw.Bytes, settled.Late.Agent)
	settled, err = p.s.SettlementOf(p.ctx, runKey(), late.Call)
	p.must("SettlementOf", err)
	if got, want := string(settled.Late.Agent), string(late.ready().Agent); got != want {
		p.Errorf("late agent result = %q after its reader wrote into it, want %q", got, want)
	}
	state := p.state()
	state.Continues[0] = "spoiled"
	p.same("continues", p.state().Continues, opening().Continues)
}

// roundTrip stores bodies and compares what comes back.
func (p *probe) roundTrip(id canonical.ToolCallID, body []byte) {
	p.T.Helper()
	c := p.admit(id, func(a *canonical.Admission) {
		a.Reserve = 0
		if len(body) <= canonical.MaxRequestBytes {
			a.Request = bytes.Clone(body)
		}
	})
	e := c.ready()
	e.Raw, e.Agent, e.Facts, e.Coverage = canonical.NewRaw(bytes.Clone(body)), bytes.Clone(body), bytes.Clone(body), bytes.Clone(body)
	if e.Agent == nil {
		e.Agent = canonical.Body{}
	}
	p.complete(e)
	p.sameBodies(c, e)
}

func (p *probe) sameBodies(c call, e canonical.Ending) {
	p.T.Helper()
	r := p.record(c.Call)
	view, err := p.s.View(p.ctx, c.Run, c.Call)
	p.must("View", err)
	for _, b := range []struct {
		what      string
		got, want []byte
	}{
		{"request", r.Request, c.Request}, {"raw", r.Raw.Bytes, e.Raw.Bytes}, {"agent result", r.Agent, e.Agent},
		{"agent result of the view", view.Agent, e.Agent}, {"facts", r.Facts, e.Facts}, {"coverage", r.Coverage, e.Coverage},
	} {
		if !bytes.Equal(b.got, b.want) {
			p.Errorf("%s: %s has %d bytes (SHA-256 %s), want %d (%s)", c.Call, b.what, len(b.got), canonical.Body(b.got).SHA256(), len(b.want), canonical.Body(b.want).SHA256())
		}
	}
	if r.Raw.Bytes == nil || r.Agent == nil {
		p.Errorf("%s: raw or agent result is absent, want it there and %d bytes long", c.Call, len(e.Raw.Bytes))
	}
	if want := e.Raw.Bytes.SHA256(); r.Head.Raw.SHA256 != want || r.Head.Raw.Size != int64(len(e.Raw.Bytes)) || !r.Head.Raw.Stored {
		p.Errorf("%s: the head says of raw: %+v; want stored, %d bytes, %s", c.Call, r.Head.Raw, len(e.Raw.Bytes), want)
	}
}

func anyBytes(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, body := range map[string][]byte{
		"empty": {}, "nul": {0}, "nul-inside": []byte("a\x00b\x00"), "every-byte": every, "not-utf8": {0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80},
		"line-ends": []byte("\r\n\n\r"), "protocol": []byte("$5\r\nhello\r\n*1\r\n"), "digits": []byte("9007199254740993"), "number": []byte("1e400"), "blank": []byte(" "),
	} {
		p.roundTrip(canonical.ToolCallID(name), body)
	}
}

func anySize(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	random := rand.NewChaCha8([32]byte{7})
	for _, size := range []int{1, 2047, 2048, 2049, 64 << 10, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 5<<20/2 + 3} {
		c := p.admit(canonical.ToolCallID(fmt.Sprintf("size-%d", size)), reserving(0))
		e := c.ready()
		body := make([]byte, size)
		_, _ = random.Read(body)
		e.Raw = canonical.NewRaw(body)
		if size <= 64<<10 {
			e.Agent = bytes.Clone(body)
		}
		p.complete(e)
		p.sameBodies(c, e)

		s := p.admit(canonical.ToolCallID(fmt.Sprintf("saved-%d", size)), reserving(0), writes)
		p.save(canonical.Saving{Run: s.Run, Call: s.Call, Claim: s.Claim, Raw: e.Raw, Expires: s.got.Expires})
		after := s.afterSave("")
		after.Raw = canonical.Raw{Size: e.Raw.Size, SHA256: e.Raw.SHA256}
		p.complete(after)
		after.Raw.Bytes = e.Raw.Bytes
		p.sameBodies(s, after)
	}
}

func tooLargeToKeep(p *probe) {
	p.open()
	c := p.admit("c1")
	e := c.failed(lifecycle.ResultTooLarge, lifecycle.Completed)
	e.Stage = canonical.StageRaw
	e.Raw = canonical.Raw{Size: 5 << 20, SHA256: canonical.Body("what was seen").SHA256(), AtLeast: true}
	p.complete(e)
	r := p.record(c.Call)
	if r.Raw.Present() || r.Head.Raw.Stored {
		p.Errorf("raw is there (%v), want it absent", r.Raw.Bytes)
	}
	want := canonical.RawInfo{Size: 5 << 20, SHA256: e.Raw.SHA256, AtLeast: true}
	p.same("what is known of raw", r.Head.Raw, want)
	if r.State != lifecycle.Error || r.Code != lifecycle.ResultTooLarge || r.Evidence != evidence.Failed || r.Stage != canonical.StageRaw {
		p.Errorf("the record is %s %s %s at %s, want ERROR RESULT_TOO_LARGE ERROR at raw", r.State, r.Code, r.Evidence, r.Stage)
	}
}

func lostPiece(p *probe) {
	p.open()
	c := p.admit("c1")
	e := c.ready()
	body := make([]byte, 3<<19) // in six pieces where pieces are 256 KiB
	_, _ = rand.NewChaCha8([32]byte{12}).Read(body)
	e.Raw = canonical.NewRaw(body)
	p.h.DropPiece()
	p.complete(e)
	p.sameBodies(c, e)
	if got := p.head(c.Call).State; got != lifecycle.Ready {
		p.Errorf("the record is %s, want READY", got)
	}
}
