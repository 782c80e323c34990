package storetest

import (
	"context"
	"regexp"
	"testing"

	"github.com/toolharness/harness/canonical"
)

// subtest checks one clause, or one side of it.
type subtest struct {
	name  string // K13_T23_what_is_checked: clauses, then scenarios, then words
	needs capability
	check func(*probe)
}

// capability is a set of optional parts of a harness.
type capability uint

const (
	needsKeys capability = 1 << iota
	needsFingerprint
	needsSnapshot
	needsPlants
	needsCorrupt
	needsRawReads
	needsDropPiece
	needsBatches
	needsScopeKeys
)

// missing names the parts that h does not have.
func (c capability) missing(h Harness) []string {
	var out []string
	for _, part := range []struct {
		bit  capability
		have bool
		name string
	}{
		{needsKeys, h.Keys != nil, "Keys"},
		{needsFingerprint, h.Fingerprint != nil, "Fingerprint"},
		{needsSnapshot, h.SnapshotLedger != nil, "SnapshotLedger"},
		{needsPlants, h.PlantForeign != nil && h.PlantNewer != nil && h.PlantNewerLedger != nil, "PlantForeign, PlantNewer, PlantNewerLedger"},
		{needsCorrupt, h.Corrupt != nil, "Corrupt"},
		{needsRawReads, h.RawReads != nil, "RawReads"},
		{needsDropPiece, h.DropPiece != nil, "DropPiece"},
		{needsScopeKeys, h.ScopeKeys != nil, "ScopeKeys"},
		{needsBatches, canBatch(h.Store), "a Store that is a Batcher"},
	} {
		if c&part.bit != 0 && !part.have {
			out = append(out, part.name)
		}
	}
	return out
}

func canBatch(s canonical.Store) bool { _, ok := s.(canonical.Batcher); return ok }

// subtests are all of them, in the order of the files.
func subtests() []subtest {
	var all []subtest
	for _, group := range [][]subtest{
		runSubtests(), expirySubtests(), admitSubtests(), orderSubtests(), budgetSubtests(), raceSubtests(), byteSubtests(),
		completeSubtests(), batchSubtests(), effectSubtests(), settleSubtests(), readSubtests(), partSubtests(), listSubtests(), removeSubtests(), quotaSubtests(),
	} {
		all = append(all, group...)
	}
	return all
}

var leadingClauses = regexp.MustCompile(`^(?:K\d\d_)+`)

// clauses lists the numbers that a subtest's name begins with.
func (s subtest) clauses() []string {
	return regexp.MustCompile(`K\d\d`).FindAllString(leadingClauses.FindString(s.name), -1)
}

// Run checks every clause on stores that open makes, one for each subtest. It
// returns before the subtests have ended, since they run in parallel; open may
// register cleanups.
func Run(t *testing.T, open func(testing.TB) Harness) {
	for _, s := range subtests() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, open(t))
		})
	}
}

// run checks one clause on one store.
func (s subtest) run(t T, h Harness) {
	t.Helper()
	if missing := s.needs.missing(h); len(missing) > 0 {
		t.Skipf("NOT CHECKED: the harness of this store lacks %v", missing)
		return
	}
	s.check(&probe{T: t, h: h, s: h.Store, ctx: context.Background(), clause: s.clauses()})
}
