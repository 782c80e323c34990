package projector

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
)

// Validate reports, as an [*Error], the first way in which p breaks the
// contract: status, absence, agent result, coverage, facts, sizes, in that
// order. [Drive] calls it on every projection; authors may, in tests.
func (p Projection) Validate(limits Limits) error {
	limits = limits.withDefaults()
	for _, check := range []func(Limits) error{p.checkStatus, p.checkResult, p.checkEvidence} {
		if err := check(limits); err != nil {
			return err
		}
	}
	return nil
}

func (p Projection) checkStatus(Limits) error {
	switch p.Status {
	case evidence.Found:
		return nil
	case evidence.None:
		if err := p.Coverage.ValidateAbsence(); err != nil {
			return refused(InvalidStatus, "coverage", err)
		}
		if len(p.Facts) > 0 {
			return &Error{Kind: InvalidStatus, Field: FieldFacts}
		}
		return nil
	default:
		return &Error{Kind: InvalidStatus, Field: FieldStatus}
	}
}

func (p Projection) checkResult(limits Limits) error {
	switch {
	case len(p.Result) > limits.AgentBytes:
		return tooLarge(FieldResult, len(p.Result), limits.AgentBytes)
	case len(bytes.TrimSpace(p.Result)) == 0: // nothing to show is neither evidence nor absence
		return &Error{Kind: Invalid, Field: FieldResult}
	case !utf8.Valid(p.Result):
		return &Error{Kind: Invalid, Field: FieldResult}
	}
	return nil
}

func (p Projection) checkEvidence(limits Limits) error {
	coverage, err := evidence.EncodeCoverage(p.Coverage)
	if err != nil {
		return refused(Invalid, "coverage", err)
	}
	facts, err := evidence.EncodeFacts(p.Facts)
	if err != nil {
		return refused(Invalid, FieldFacts, err)
	}
	if size := len(coverage) + len(facts); size > limits.FactsBytes {
		return tooLarge(FieldFacts, size, limits.FactsBytes)
	}
	return nil
}

// refused takes the field over from the evidence package where it names one.
func refused(kind Kind, field string, err error) error {
	if detail, ok := errors.AsType[*evidence.Error](err); ok {
		field = detail.Field
	}
	return &Error{Kind: kind, Field: field, cause: err}
}
