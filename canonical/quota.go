package canonical

// Quota bounds what all runs of one scope may hold together. The zero value bounds
// nothing; beside a number that is set, one that is zero is without limit. A quota
// is not stored: each opening brings its own, and is judged by that alone.
type Quota struct {
	Records int64 // calls that runs may still admit or have admitted; 1 to MaxQuota
	Bytes   int64 // capacity of runs, as Budget.Bytes; 1 to MaxQuota
}

// MaxQuota bounds both numbers of a quota, so that sums stay exact.
const MaxQuota = 1 << 52

// Set reports whether there is a quota at all.
func (q Quota) Set() bool { return q != Quota{} }

// Limits are the two numbers, MaxQuota in place of one that has no limit.
func (q Quota) Limits() (records, bytes int64) {
	records, bytes = q.Records, q.Bytes
	fill(&records, MaxQuota)
	fill(&bytes, MaxQuota)
	return records, bytes
}

// Validate checks both numbers; the error is an [*ArgumentError].
func (q Quota) Validate() error {
	for _, n := range []struct {
		field string
		value int64
	}{{"quota.records", q.Records}, {"quota.bytes", q.Bytes}} {
		if n.value < 0 || n.value > MaxQuota {
			return &ArgumentError{Op: "open", Field: n.field, Reason: "out of range", Size: n.value, Limit: MaxQuota}
		}
	}
	return nil
}

// Use is what the reservations of a scope come to. Runs that were opened without
// a quota have none.
type Use struct {
	Runs    int // with a reservation, closed ones included, until their life is over
	Records int64
	Bytes   int64
}

// checkQuota checks the quota of an opening, and that the run's own budget can be
// reserved under it.
func (o Opening) checkQuota() error {
	if !o.Quota.Set() {
		return nil
	}
	if err := o.Quota.Validate(); err != nil {
		return err
	}
	for _, b := range []struct {
		field string
		value int64
	}{{"budget.calls", int64(o.Budget.Calls)}, {"budget.bytes", o.Budget.Bytes}} {
		if b.value == Unlimited {
			return &ArgumentError{Op: "open", Field: b.field, Reason: "without limit under a quota"}
		}
	}
	return nil
}
