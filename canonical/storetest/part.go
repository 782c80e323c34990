package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/toolharness/harness/canonical"
)

func partSubtests() []subtest {
	return []subtest{
		{"K66_evidence_is_found_in_its_run", 0, evidenceIsFound},
		{"K66_evidence_outlives_its_record", 0, evidenceOutlives},
		{"K66_K25_evidence_of_a_newer_run", needsPlants, evidenceOfNewerRun},
		{"K67_parts_make_the_whole", 0, partsMakeTheWhole},
		{"K67_what_has_no_part", 0, noPart},
		{"K67_a_part_moves_its_piece_alone", needsRawReads, partMovesItsPiece},
		{"K67_no_part_of_bytes_that_do_not_match", needsCorrupt, noCorruptPart},
	}
}

// find asks for a call by its evidence id.
func (p *probe) find(run canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
	return p.s.FindEvidence(p.ctx, run, id)
}

// found checks that an evidence id leads to its call.
func (p *probe) found(when string, c call) {
	p.T.Helper()
	got, err := p.find(c.Run, c.EvidenceID)
	p.must("FindEvidence "+when, err)
	p.same("the call found "+when, got, c.Call)
}

func evidenceIsFound(p *probe) {
	_, err := p.find(runKey(), "evidence-a")
	p.refused("FindEvidence without a run", err, canonical.ErrRunMissing)
	other := runNamed("run-2")
	p.open()
	p.open(func(o *canonical.Opening) { o.Run = other })
	a, b := p.admit("a"), p.admit("b", inTurn("3"), writes)
	elsewhere := p.admit("c", func(m *canonical.Admission) { m.Run = other })
	for _, c := range []call{a, b, elsewhere} {
		p.found("while it is open", c)
	}
	again := a.Admission
	again.EvidenceID = "evidence-of-a-second-delivery"
	_, err = p.s.Admit(p.ctx, again)
	p.must("Admit again with another evidence id", err)
	duplicate := p.admission("a", claimed("another-claim"), func(m *canonical.Admission) { m.EvidenceID = "evidence-of-a-duplicate" })
	_, err = p.s.Admit(p.ctx, duplicate)
	p.refused("Admit", err, canonical.ErrDuplicate)
	for what, at := range map[string]struct {
		run canonical.RunKey
		id  canonical.EvidenceID
	}{
		"never given":         {runKey(), "evidence-never"},
		"of another run":      {runKey(), elsewhere.EvidenceID},
		"in another run":      {other, a.EvidenceID},
		"in other letters":    {runKey(), "Evidence-a"},
		"of a late delivery":  {runKey(), again.EvidenceID},
		"of a duplicate":      {runKey(), duplicate.EvidenceID},
		"that is a call name": {runKey(), "a"},
	} {
		_, err := p.find(at.run, at.id)
		p.refused("FindEvidence of an id "+what, err, canonical.ErrMissing)
	}
	if _, err := p.find(runKey(), "no evidence {id}"); !isArgument(err) {
		p.Errorf("FindEvidence of what is no id = %v, want an ArgumentError", err)
	}
	p.found("after all that", a)
}

func evidenceOutlives(p *probe) {
	state := p.open()
	deleted, expired := p.admit("deleted"), p.admit("expired", func(a *canonical.Admission) { a.TTL = 30 * time.Minute })
	p.complete(deleted.ready())
	p.must("Delete", p.s.Delete(p.ctx, runKey(), deleted.Call))
	p.h.Advance(time.Hour)
	p.found("after its record was deleted", deleted)
	p.found("after its record has expired", expired)
	p.close()
	p.found("after the run was closed", deleted)
	p.h.Advance(state.Expires.Sub(p.h.Now()) + time.Minute)
	_, err := p.find(runKey(), deleted.EvidenceID)
	p.refused("FindEvidence after the run's life", err, canonical.ErrRunMissing)
}

func evidenceOfNewerRun(p *probe) {
	p.open()
	c := p.admit("c1")
	p.h.PlantNewerLedger(runKey())
	_, err := p.find(runKey(), c.EvidenceID)
	p.refused("FindEvidence in a newer run", err, canonical.ErrNewerVersion)
}

func isArgument(err error) bool {
	_, is := errors.AsType[*canonical.ArgumentError](err)
	return is
}

// bytesOf is a raw result of some size in which no two places look alike.
func bytesOf(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%d\x00\xff", i)
	}
	return b.Bytes()[:size]
}

// kept is a call with a raw result of some size.
func (p *probe) kept(id canonical.ToolCallID, size int) (call, []byte) {
	p.T.Helper()
	c := p.admit(id, reserving(0))
	e := c.ready()
	e.Raw = canonical.NewRaw(bytesOf(size))
	p.complete(e)
	return c, bytesOf(size)
}

// parts reads a raw result from its beginning to its end, at most step bytes at
// a time.
func (p *probe) parts(name canonical.CallName, step int) []byte {
	p.T.Helper()
	info := p.head(name).Raw
	all := []byte{}
	for {
		part, err := p.s.RawPart(p.ctx, runKey(), name, int64(len(all)), step)
		p.must("RawPart", err)
		p.same("what is said of the whole", part.Raw, info)
		if part.Offset != int64(len(all)) || len(part.Bytes) > step || part.Bytes == nil {
			p.Fatalf("asked for %d bytes from %d on and got %d from %d on", step, len(all), len(part.Bytes), part.Offset)
		}
		if int64(len(all)) == info.Size {
			if len(part.Bytes) != 0 {
				p.Errorf("%d bytes behind the end", len(part.Bytes))
			}
			return all
		}
		if len(part.Bytes) == 0 {
			p.Fatalf("no bytes from %d on, of %d", len(all), info.Size)
		}
		all = append(all, part.Bytes...)
		spoil(part.Bytes)
	}
}

func partsMakeTheWhole(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	for i, size := range []int{0, 1, 10, 3000, 1 << 20, 1<<20 + 1, 5 << 19} {
		c, raw := p.kept(callID(i), size)
		for _, step := range []int{max(1, size/50), size/3 + 1, size + 1, 1 << 30} {
			if got := p.parts(c.Call, step); !bytes.Equal(got, raw) {
				p.Errorf("parts of %d bytes of a raw result of %d make another one of %d", step, size, len(got))
			}
		}
	}
	saved := p.admit("saved", writes)
	p.save(saved.saving("raw of an open call"))
	if got := p.parts(saved.Call, 7); string(got) != "raw of an open call" {
		p.Errorf("parts of the raw of an open call make %q", got)
	}
}

func noPart(p *probe) {
	p.open()
	c, raw := p.kept("c1", 100)
	for _, at := range []struct {
		offset int64
		max    int
	}{{-1, 10}, {101, 10}, {1 << 40, 1}, {0, 0}, {0, -1}, {100, 0}} {
		if part, err := p.s.RawPart(p.ctx, runKey(), c.Call, at.offset, at.max); !isArgument(err) || part.Bytes != nil {
			p.Errorf("RawPart of %d bytes, %d from %d on = %d bytes, %v; want an ArgumentError", len(raw), at.max, at.offset, len(part.Bytes), err)
		}
	}
	open, failed, large := p.admit("open"), p.admit("failed"), p.admit("large")
	p.complete(failed.toolFailed())
	e := large.failed("RESULT_TOO_LARGE", "completed")
	e.Raw = canonical.Raw{Size: 1 << 30, SHA256: canonical.Body("seen").SHA256(), AtLeast: true}
	p.complete(e)
	p.must("Delete", p.s.Delete(p.ctx, runKey(), c.Call))
	for what, at := range map[string]canonical.Identity{
		"an open call": open.identity(), "a call without raw": failed.identity(), "a raw result too large to keep": large.identity(),
		"a deleted record": c.identity(), "a call that never was": {RunKey: runKey(), Call: named("never")},
		"a call of another run": {RunKey: runNamed("run-2"), Call: c.Call},
	} {
		_, err := p.s.RawPart(p.ctx, at.RunKey, at.Call, 0, 10)
		p.refused("RawPart of "+what, err, canonical.ErrMissing)
	}
}

func partMovesItsPiece(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	for i, size := range []int{100, 5 << 19} {
		c, raw := p.kept(callID(i), size)
		before := p.h.RawReads()
		for n, offset := range []int{0, size / 2, size - 1} {
			part, err := p.s.RawPart(p.ctx, runKey(), c.Call, int64(offset), 1)
			p.must("RawPart", err)
			if string(part.Bytes) != string(raw[offset:offset+1]) {
				p.Errorf("byte %d of %d is %q, want %q", offset, size, []byte(part.Bytes), raw[offset])
			}
			if moved := p.h.RawReads() - before; moved != n+1 {
				p.Errorf("%d parts of one byte, of %d, moved %d pieces", n+1, size, moved)
			}
		}
		before = p.h.RawReads()
		_, err := p.s.RawPart(p.ctx, runKey(), c.Call, int64(size), 1)
		p.must("RawPart at the end", err)
		if moved := p.h.RawReads() - before; moved != 0 {
			p.Errorf("the empty part at the end moved %d pieces", moved)
		}
	}
}

func noCorruptPart(p *probe) {
	p.open(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited))
	for i, size := range []int{10, 64 << 10, 5 << 19} {
		c, raw := p.kept(callID(i), size)
		p.h.Corrupt(c.identity())
		step, refused := size/10, 0
		for offset := 0; offset < size; offset += step {
			part, err := p.s.RawPart(p.ctx, runKey(), c.Call, int64(offset), step)
			switch {
			case err != nil:
				p.refused("RawPart of corrupt bytes", err, canonical.ErrCorrupt)
				refused++
			case !bytes.HasPrefix(raw[offset:], part.Bytes):
				p.Errorf("a part of %d corrupt bytes, from %d on, was given", size, offset)
			}
			if err != nil && part.Bytes != nil {
				p.Errorf("an error and %d bytes", len(part.Bytes))
			}
		}
		if refused == 0 {
			p.Errorf("every part of %d corrupt bytes was given", size)
		}
	}
}
