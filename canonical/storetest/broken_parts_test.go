package storetest_test

import (
	"errors"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
)

func brokenParts() []broken {
	return []broken{
		{"K66", "evidence_is_found_from_any_run_of_the_scope", func(g *good, k *hooks, _ *storetest.Harness) {
			owner := map[canonical.EvidenceID]canonical.RunKey{}
			k.admit = func(a canonical.Admission) (canonical.Admitted, error) {
				got, err := g.Admit(ctx, a)
				if err == nil && !got.Own {
					g.locked(func() { owner[a.EvidenceID] = a.Run })
				}
				return got, err
			}
			k.find = func(run canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
				if at, ok := owner[id]; ok {
					run = at
				}
				return g.FindEvidence(ctx, run, id)
			}
		}},
		{"K66", "evidence_goes_with_its_record", func(g *good, k *hooks, _ *storetest.Harness) {
			k.find = func(run canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
				name, err := g.FindEvidence(ctx, run, id)
				if err == nil && !g.head(run, name).Exists() {
					return canonical.CallName{}, &canonical.RefusedError{Op: "find", Err: canonical.ErrMissing}
				}
				return name, err
			}
		}},
		{"K66", "in_a_run_that_is_gone_evidence_is_missing", func(g *good, k *hooks, _ *storetest.Harness) {
			k.find = func(run canonical.RunKey, id canonical.EvidenceID) (canonical.CallName, error) {
				name, err := g.FindEvidence(ctx, run, id)
				if errors.Is(err, canonical.ErrRunMissing) {
					err = &canonical.RefusedError{Op: "find", Err: canonical.ErrMissing}
				}
				return name, err
			}
		}},
		{"K67", "a_part_is_longer_than_asked", func(g *good, k *hooks, _ *storetest.Harness) {
			k.rawPart = func(run canonical.RunKey, name canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
				return g.RawPart(ctx, run, name, offset, max(most, 20))
			}
		}},
		{"K67", "a_part_begins_with_its_piece", func(g *good, k *hooks, _ *storetest.Harness) {
			k.rawPart = func(run canonical.RunKey, name canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
				part, err := g.RawPart(ctx, run, name, offset, most)
				if err == nil && len(part.Bytes) > 0 {
					first, _ := g.RawPart(ctx, run, name, 0, len(part.Bytes))
					part.Bytes = first.Bytes
				}
				return part, err
			}
		}},
		{"K67", "the_end_of_a_raw_result_is_beyond_it", func(g *good, k *hooks, _ *storetest.Harness) {
			k.rawPart = func(run canonical.RunKey, name canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
				part, err := g.RawPart(ctx, run, name, offset, most)
				if err == nil && len(part.Bytes) == 0 {
					return canonical.RawPart{}, &canonical.ArgumentError{Op: "raw part", Field: "offset", Reason: "beyond the end"}
				}
				return part, err
			}
		}},
		{"K67", "beyond_the_end_is_an_empty_part", func(g *good, k *hooks, _ *storetest.Harness) {
			k.rawPart = func(run canonical.RunKey, name canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
				return g.RawPart(ctx, run, name, min(offset, g.head(run, name).Raw.Size), most)
			}
		}},
		{"K67", "a_part_moves_every_piece", func(g *good, k *hooks, h *storetest.Harness) {
			more := 0
			k.rawPart = func(run canonical.RunKey, name canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
				g.locked(func() { more += int(g.head(run, name).Raw.Size >> 20) })
				return g.RawPart(ctx, run, name, offset, most)
			}
			h.RawReads = func() int { return g.RawReads() + more }
		}},
		{"K67", "a_part_is_not_verified", func(g *good, k *hooks, _ *storetest.Harness) {
			k.rawPart = func(run canonical.RunKey, name canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
				part, err := g.RawPart(ctx, run, name, offset, most)
				if errors.Is(err, canonical.ErrCorrupt) {
					return canonical.RawPart{Raw: g.head(run, name).Raw, Bytes: canonical.Body("flipped"), Offset: offset}, nil
				}
				return part, err
			}
		}},
		{"K67", "no_raw_is_an_empty_part", func(g *good, k *hooks, _ *storetest.Harness) {
			k.rawPart = func(run canonical.RunKey, name canonical.CallName, offset int64, most int) (canonical.RawPart, error) {
				part, err := g.RawPart(ctx, run, name, offset, most)
				if errors.Is(err, canonical.ErrMissing) {
					return canonical.RawPart{Bytes: canonical.Body{}}, nil
				}
				return part, err
			}
		}},
	}
}
