package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// deliveries bounds how often a message is sent whole because the server missed
// a part of it.
const deliveries = 4

var errIncomplete = errors.New("fields were lost on the way, more than once")

// delivery is a script and the fields that it accepts or removes.
type delivery struct {
	script  *script
	message message
	holder  string // key of the hash that takes the fields
	expires any    // its expiry in ms where the fields may come first, else ""
	fields  []field
	pieces  string // digest over the list of the raw's pieces, for the reference
	acks    acks   // what is asked of replicas behind it
}

// deliver sends fields and script in one write and waits once. NOSCRIPT inside
// the transaction leaves the fields where they are; then all of it goes again,
// with the script's text. So it does where the script misses a field.
func (s *Store) deliver(ctx context.Context, d delivery) (reply, error) {
	if len(d.fields) == 0 && d.acks.replicas == 0 {
		return s.run(ctx, d.script, d.message)
	}
	whole := false
	for range deliveries {
		r, err := s.write(ctx, d, whole)
		switch {
		case unknownScript(err):
			whole = true
		case err != nil:
			return reply{}, err
		case r.word != "incomplete":
			return r, nil
		}
	}
	return reply{}, errIncomplete
}

// write is one delivery: a single transaction, or one for each group of fields
// where there are many bytes, so that no other client waits for all of them.
//
// A pipeline with MULTI and EXEC in it is repeated by the client of one server when
// its reply is lost, as every command is; go-redis does not repeat what its own
// TxPipeline sends.
func (s *Store) write(ctx context.Context, d delivery, whole bool) (reply, error) {
	if d.acks.replicas > 0 {
		return s.writeAsking(ctx, d, whole)
	}
	if node, only := s.node(ctx, d.holder); node != nil {
		r, err := s.writeGroups(ctx, node, d, group(d.fields), whole)
		if err == nil || only || unknownScript(err) || ctx.Err() != nil {
			return r, err
		}
		// A slot that has moved, a node that has gone, a reply that was lost: the
		// cluster client's own transaction knows how to follow, at the price of a
		// long one.
	}
	var answer *redis.Cmd
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		s.put(ctx, p, d, d.fields)
		answer = d.script.by(ctx, p, whole, d.message)
		return nil
	})
	if answer == nil {
		return reply{}, err
	}
	return d.script.reply(answer)
}

// moves is how often a write that asks replicas looks for its node again, and
// firstMove how long it waits before that, three times as long each time.
const (
	moves     = 3
	firstMove = 50 * time.Millisecond
)

// writeAsking is write for a delivery that asks replicas. Question and script have
// to share a connection, so no command of a cluster client will do; a slot that has
// moved and a node that has gone are followed here.
func (s *Store) writeAsking(ctx context.Context, d delivery, whole bool) (reply, error) {
	pause := firstMove
	for attempt := 0; ; attempt++ {
		node, only := s.node(ctx, d.holder)
		r, err := reply{}, errNoNode
		if node != nil {
			r, err = s.writeGroups(ctx, node, d, group(d.fields), whole)
		}
		if only || attempt == moves || !elsewhere(err) || ctx.Err() != nil {
			return r, err
		}
		if cluster, ok := s.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return r, err
		}
		pause *= 3
	}
}

var errNoNode = errors.New("no server is known for the slot")

// elsewhere reports whether another server, or the same one a while later, may
// answer what this one did not.
func elsewhere(err error) bool {
	if err == nil || !answered(err) {
		return err != nil
	}
	for _, code := range []string{"MOVED", "ASK", "TRYAGAIN", "READONLY", "CLUSTERDOWN", "LOADING", "MASTERDOWN"} {
		if redis.HasErrorPrefix(err, code) {
			return true
		}
	}
	return false
}

// put writes fields and makes sure that they stay only on a living key.
func (s *Store) put(ctx context.Context, p redis.Pipeliner, d delivery, fields []field) {
	set := make([]any, 2, 2+2*len(fields))
	set[0], set[1] = "hset", d.holder
	attach := message{keys: []string{d.holder}, args: make([]any, 1, 1+len(fields))}
	attach.args[0] = d.expires
	for i := range fields {
		set = append(set, &fields[i].name, fields[i].bytes)
		attach.args = append(attach.args, &fields[i].name)
	}
	p.Do(ctx, set...)
	s.lua.attach.by(ctx, p, true, attach)
}

// writeGroups sends several transactions in one pipeline, the script in the
// last, on one connection to one node. A cluster client would spread the bare
// MULTI and EXEC over its connections.
func (s *Store) writeGroups(ctx context.Context, node *redis.Client, d delivery, groups [][]field, whole bool) (reply, error) {
	var own queued
	var asked *redis.Cmd
	cmds, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		own = s.queue(ctx, p, d, groups, whole)
		asked = d.acks.ask(ctx, p)
		return nil
	})
	r, err := d.answer(own, cmds, err)
	r.replicas = reached(asked)
	return r, err
}

// queued is where a delivery stands in a pipeline.
type queued struct {
	last        *redis.Cmd // has the script's answer, inside that of a transaction where there are fields
	first, next int        // places of its commands: from first, before next
}

// queue puts a delivery into a pipeline to one node.
func (s *Store) queue(ctx context.Context, p redis.Pipeliner, d delivery, groups [][]field, whole bool) queued {
	q := queued{first: p.Len()}
	if len(d.fields) == 0 {
		q.last = d.script.by(ctx, p, whole, d.message)
		groups = nil
	}
	for i, fields := range groups {
		p.Do(ctx, "multi")
		s.put(ctx, p, d, fields)
		if i == len(groups)-1 {
			d.script.by(ctx, p, whole, d.message)
		}
		q.last = p.Do(ctx, "exec")
	}
	q.next = p.Len()
	return q
}

// answer reads what a queued delivery brought; err is the pipeline's. A
// transaction that was not carried out says so, and the command that is to blame
// says why.
func (d delivery) answer(q queued, cmds []redis.Cmder, err error) (reply, error) {
	if q.last == nil || q.next > len(cmds) {
		return reply{}, errors.Join(err, errNotSent)
	}
	if q.last.Err() != nil {
		for _, cmd := range cmds[q.first:q.next] {
			if cmd.Err() != nil {
				return reply{}, cmd.Err()
			}
		}
	}
	if len(d.fields) == 0 {
		return d.script.parse(q.last.Val())
	}
	results, ok := q.last.Val().([]any)
	if !ok || len(results) == 0 {
		return reply{}, &ReplyError{Script: d.script.name, Reason: "not the answer of a transaction"}
	}
	answer := results[len(results)-1]
	if err, failed := answer.(error); failed {
		return reply{}, err
	}
	return d.script.parse(answer)
}

// node is the server that holds key, where the kind of client lets us know, and
// whether there is no other.
func (s *Store) node(ctx context.Context, key string) (node *redis.Client, only bool) {
	switch c := s.client.(type) {
	case *redis.Client:
		return c, true
	case *redis.ClusterClient:
		if node, err := c.MasterForKey(ctx, key); err == nil {
			return node, false
		}
	}
	return nil, false
}

// group splits fields by size, in order. All fit in one group up to wholeBytes.
func group(fields []field) [][]field {
	total := 0
	for _, f := range fields {
		total += len(f.bytes)
	}
	if total <= wholeBytes {
		return [][]field{fields}
	}
	var groups [][]field
	size := 0
	for i, f := range fields {
		if i == 0 || size+len(f.bytes) > groupBytes {
			groups, size = append(groups, nil), 0
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], f)
		size += len(f.bytes)
	}
	return groups
}
