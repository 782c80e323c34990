package redisstore

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// batch is how many records one pipeline of Heads reads.
const batch = 500

// Heads implements [canonical.Reader]. Two trips for each 500 names: fixed
// fields, then facts and coverage.
func (s *Store) Heads(ctx context.Context, run canonical.RunKey, calls []canonical.CallName) ([]canonical.Head, error) {
	if err := run.Validate(); err != nil {
		return nil, err
	}
	for _, call := range calls {
		if err := call.Validate(); err != nil {
			return nil, err
		}
	}
	heads := make([]canonical.Head, 0, len(calls))
	for start := 0; start < len(calls); start += batch {
		part, err := s.heads(ctx, run, calls[start:min(start+batch, len(calls))])
		if err != nil {
			return nil, err
		}
		heads = append(heads, part...)
	}
	return heads, nil
}

func (s *Store) heads(ctx context.Context, run canonical.RunKey, calls []canonical.CallName) ([]canonical.Head, error) {
	records, faults, err := s.records(ctx, run, calls)
	if err != nil {
		return nil, trouble(ctx, "heads", err)
	}
	var wanted []fetch
	for i := range records {
		wanted = append(wanted, records[i].small(s.keys(run).record(calls[i]), &records[i].head, &faults[i])...)
	}
	if err := s.fetch(ctx, wanted); err != nil {
		return nil, trouble(ctx, "heads", err)
	}
	heads := make([]canonical.Head, len(calls))
	for i := range heads {
		if heads[i] = records[i].head; faults[i] != nil {
			heads[i] = canonical.Head{Identity: canonical.Identity{RunKey: run, Call: calls[i]}, Fault: faults[i]}
		}
	}
	return heads, nil
}

// records reads the head fields of many records in one trip, and decodes them.
// faults say what is wrong with each; the error is trouble.
func (s *Store) records(ctx context.Context, run canonical.RunKey, calls []canonical.CallName) ([]stored, []error, error) {
	k := s.keys(run)
	cmds := make([]*redis.SliceCmd, len(calls))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, call := range calls {
			cmds[i] = p.HMGet(ctx, k.record(call), headFields[:]...)
		}
		return nil
	})
	if err != nil && !answered(err) {
		return nil, nil, err
	}
	records, faults := make([]stored, len(calls)), make([]error, len(calls))
	for i, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			if faults[i], err = s.foreign(ctx, k.record(calls[i]), err); err != nil {
				return nil, nil, err
			}
			continue
		}
		id := canonical.Identity{RunKey: run, Call: calls[i]}
		records[i], faults[i] = decodeRecord(id, present(headFields[:], cmd.Val()))
	}
	return records, faults, nil
}

// foreign tells a key of another type from trouble.
func (s *Store) foreign(ctx context.Context, key string, err error) (fault, other error) {
	if !answered(err) {
		return nil, err
	}
	if kind, asked := s.client.Type(ctx, key).Result(); asked != nil || kind == "hash" || kind == "none" {
		return nil, err
	}
	return canonical.ErrForeign, nil
}

// View implements [canonical.Reader]. Two trips.
func (s *Store) View(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.View, error) {
	record, err := s.whole(ctx, "view", run, call, false)
	return record.View, err
}

// Record implements [canonical.Reader]. Two trips.
func (s *Store) Record(ctx context.Context, run canonical.RunKey, call canonical.CallName) (canonical.Record, error) {
	return s.whole(ctx, "record", run, call, true)
}

// whole reads one record with its bodies, request and raw included where all
// are asked for.
func (s *Store) whole(ctx context.Context, op string, run canonical.RunKey, call canonical.CallName, all bool) (canonical.Record, error) {
	if err := checkCall(run, call); err != nil {
		return canonical.Record{}, err
	}
	records, faults, err := s.records(ctx, run, []canonical.CallName{call})
	if err != nil {
		return canonical.Record{}, trouble(ctx, op, err)
	}
	rec, fault := &records[0], faults[0]
	if fault == nil && !rec.exists() {
		fault = canonical.ErrMissing
	}
	var out canonical.Record
	if fault == nil {
		out.Head = rec.head
		if err := s.fetch(ctx, rec.bodies(s.keys(run).record(call), &out, &fault, all)); err != nil {
			return canonical.Record{}, trouble(ctx, op, err)
		}
	}
	if fault != nil {
		return canonical.Record{}, standing(op, call, fault, string(rec.head.State))
	}
	return out, nil
}

// small lists what Heads reads of a record beside the fixed fields.
func (s *stored) small(key string, head *canonical.Head, fault *error) []fetch {
	var list []fetch
	if s.facts != nil {
		list = append(list, fetch{key: key, names: s.facts.names(kindFacts, s.accepted), desc: *s.facts, to: &head.Facts, fault: fault})
	}
	if s.coverage != nil {
		list = append(list, fetch{key: key, names: s.coverage.names(kindCover, s.accepted), desc: *s.coverage, to: &head.Coverage, fault: fault})
	}
	return list
}

// bodies lists what View and, where all are asked for, Record read.
func (s *stored) bodies(key string, out *canonical.Record, fault *error, all bool) []fetch {
	list := s.small(key, &out.Head, fault)
	if s.agent != nil {
		list = append(list, fetch{key: key, names: s.agent.names(kindAgent, s.accepted), desc: *s.agent, to: &out.Agent, fault: fault})
	}
	if !all {
		return list
	}
	request := descriptor{Size: s.head.RequestSize, SHA256: s.head.RequestSHA256}
	list = append(list, fetch{key: key, names: []string{"rq"}, desc: request, to: &out.Request, fault: fault})
	if s.raw != nil {
		out.Raw = canonical.Raw{Size: s.raw.Size, SHA256: s.raw.SHA256, AtLeast: s.raw.AtLeast}
		if !s.raw.Absent {
			list = append(list, fetch{key: key, names: s.raw.names(kindRaw, s.accepted), desc: *s.raw, to: &out.Raw.Bytes, fault: fault})
		}
	}
	return list
}

// fetch is one body to be read: its fields, what it must be, and where it goes.
type fetch struct {
	key   string
	names []string
	desc  descriptor
	to    *canonical.Body
	fault *error // set to ErrCorrupt, or ErrMissing where the record went in between
}

// fetch reads bodies in one trip and verifies each.
func (s *Store) fetch(ctx context.Context, list []fetch) error {
	if len(list) == 0 {
		return nil
	}
	cmds := make([]*redis.SliceCmd, len(list))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, f := range list {
			cmds[i] = p.HMGet(ctx, f.key, append([]string{"st", "v"}, f.names...)...)
		}
		return nil
	})
	if err != nil && !answered(err) {
		return err
	}
	for i, f := range list {
		if err := cmds[i].Err(); err != nil {
			return err
		}
		f.read(cmds[i].Val())
	}
	return nil
}

// read takes over one body. The answer begins with two fields of which a holder
// that is still there has at least one.
func (f fetch) read(values []any) {
	if len(values) < 2 || values[0] == nil && values[1] == nil {
		*f.fault = canonical.ErrMissing
		return
	}
	var parts []string
	for _, value := range values[2:] {
		if text, ok := value.(string); ok {
			parts = append(parts, text)
		}
	}
	body, ok := f.desc.join(parts)
	if !ok {
		*f.fault = canonical.ErrCorrupt
		return
	}
	*f.to = body
}

// Order implements [canonical.Reader]. One trip.
func (s *Store) Order(ctx context.Context, run canonical.RunKey, after int64, most int) ([]canonical.Numbered, error) {
	if err := run.Validate(); err != nil {
		return nil, err
	}
	if most < 1 {
		return nil, &canonical.ArgumentError{Op: "order", Field: "max", Reason: "below one"}
	}
	k := s.keys(run)
	var seen ledgerView
	var page *redis.ZSliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		seen = viewLedger(ctx, p, k.ledger())
		page = p.ZRangeByScoreWithScores(ctx, k.order(), &redis.ZRangeBy{
			Min: "(" + strconv.FormatInt(after, 10), Max: "+inf", Count: int64(most)})
		return nil
	})
	if _, err := seen.read(ctx, s, "order", err); err != nil {
		return nil, err
	}
	if err := page.Err(); err != nil {
		return nil, s.explainSet(ctx, "order", k.order(), err)
	}
	var out []canonical.Numbered
	for _, z := range page.Val() {
		text, _ := z.Member.(string)
		name, err := canonical.ParseCallName(text)
		if err != nil {
			return nil, refused("order", canonical.CallName{}, canonical.ErrCorrupt)
		}
		out = append(out, canonical.Numbered{Seq: int64(z.Score), Call: name})
	}
	return out, nil
}

// present pairs the names that were asked for with the values that are there.
func present(names []string, values []any) hash {
	h := make(hash, len(names))
	for i, value := range values {
		if text, ok := value.(string); ok && i < len(names) {
			h[names[i]] = text
		}
	}
	return h
}
