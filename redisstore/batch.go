package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
)

// batchBytes bounds the bodies that share a pipeline, so that one write is not
// longer than a connection's timeout allows. Above it a batch is sent in several.
const batchBytes = 8 << 20

// AdmitBatch implements [canonical.Batcher]. One trip for all, and one more where
// the server does not know the script.
func (s *Store) AdmitBatch(ctx context.Context, messages []canonical.Admission) []canonical.AdmitAnswer {
	answers := make([]canonical.AdmitAnswer, len(messages))
	var places []int
	var sent []delivery
	for i, a := range messages {
		d, err := s.admission(ctx, a)
		if err != nil {
			answers[i].Err = err
			continue
		}
		places, sent = append(places, i), append(sent, d)
	}
	var weak, replicas []int
	for n, got := range s.sendAll(ctx, s.lua.admit, sent) {
		i := places[n]
		if got.err != nil {
			answers[i].Err = trouble(ctx, "admit", got.err)
			continue
		}
		answers[i].Admitted, answers[i].Err = admissionAnswer(messages[i].Call, got.reply)
		if answers[i].Err == nil && s.weak(answers[i].Admitted, got.reply) {
			weak, replicas = append(weak, i), append(replicas, got.reply.replicas)
		}
	}
	s.withdrawSome(ctx, messages, answers, weak, replicas)
	return answers
}

// withdrawSome turns the answers to admissions that too few replicas have into
// refusals.
func (s *Store) withdrawSome(ctx context.Context, messages []canonical.Admission, answers []canonical.AdmitAnswer, weak, replicas []int) {
	if len(weak) == 0 {
		return
	}
	admissions := make([]canonical.Admission, len(weak))
	for n, i := range weak {
		admissions[n] = messages[i]
	}
	for n, err := range s.withdraw(ctx, admissions, replicas) {
		answers[weak[n]] = canonical.AdmitAnswer{Err: err}
	}
}

// sendAll sends messages of one script without fields. Where replicas are asked it
// has to be on one connection for each run.
func (s *Store) sendAll(ctx context.Context, sc *script, ds []delivery) []delivered {
	if s.acks.replicas > 0 {
		return s.deliverAll(ctx, ds)
	}
	messages := make([]message, len(ds))
	for i, d := range ds {
		messages[i] = d.message
	}
	return s.runAll(ctx, sc, messages)
}

// delivered is what came of one message.
type delivered struct {
	reply reply
	err   error
}

// runAll sends one script many times in one pipeline. Messages are judged alone;
// those that the server did not know go again with the text.
func (s *Store) runAll(ctx context.Context, sc *script, messages []message) []delivered {
	out := make([]delivered, len(messages))
	todo := make([]int, len(messages))
	for i := range todo {
		todo[i] = i
	}
	for _, whole := range []bool{false, true} {
		if len(todo) == 0 {
			break
		}
		cmds := make([]*redis.Cmd, len(todo))
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for j, i := range todo {
				cmds[j] = sc.by(ctx, p, whole, messages[i])
			}
			return nil
		})
		var unknown []int
		for j, i := range todo {
			if unknownScript(cmds[j].Err()) && !whole {
				unknown = append(unknown, i)
				continue
			}
			out[i].reply, out[i].err = sc.reply(cmds[j])
			if cmds[j].Err() == nil && cmds[j].Val() == nil { // nothing was sent
				out[i].err = errors.Join(err, errNotSent)
			}
		}
		todo = unknown
	}
	return out
}

// CompleteBatch implements [canonical.Batcher]. One trip for all, whatever their
// size up to batchBytes in sum.
func (s *Store) CompleteBatch(ctx context.Context, messages []canonical.Ending) []canonical.EndAnswer {
	answers := make([]canonical.EndAnswer, len(messages))
	var places []int
	var deliveries []delivery
	for i, e := range messages {
		d, err := s.checkedCompletion(ctx, "complete", e)
		if err != nil {
			answers[i].Err = err
			continue
		}
		places, deliveries = append(places, i), append(deliveries, d)
	}
	for n, got := range s.deliverAll(ctx, deliveries) {
		i := places[n]
		if got.err != nil {
			answers[i].Err = trouble(ctx, "complete", got.err)
			continue
		}
		answers[i].Ended, answers[i].Err = completionAnswer(messages[i].Call, got.reply, deliveries[n].pieces)
	}
	return answers
}

// deliverAll is deliver for several messages, in their order: two of them may
// concern one record.
func (s *Store) deliverAll(ctx context.Context, ds []delivery) []delivered {
	out := make([]delivered, len(ds))
	for _, part := range s.shares(ds) {
		s.deliverShare(ctx, ds, part, out)
	}
	return out
}

// shares splits deliveries into those that share a pipeline: the same holder's
// slot, as far as a cluster is concerned, and no more than batchBytes.
func (s *Store) shares(ds []delivery) [][]int {
	_, cluster := s.client.(*redis.ClusterClient)
	var parts [][]int
	open := map[string]int{} // by run where that matters: its place in parts
	held := map[string]int{}
	for i, d := range ds {
		run := ""
		if cluster {
			run = d.message.keys[0]
		}
		size := d.size()
		at, have := open[run]
		if !have || held[run]+size > batchBytes {
			at = len(parts)
			parts, open[run], held[run] = append(parts, nil), at, 0
		}
		parts[at] = append(parts[at], i)
		held[run] += size
	}
	return parts
}

func (d delivery) size() int {
	n := 0
	for _, f := range d.fields {
		n += len(f.bytes)
	}
	return n
}

// deliverShare writes one share and puts its answers into out. Where the server
// does not know the script, those it concerns share a second write. What that does
// not settle either, for a part that was lost or a slot that has moved, goes alone.
func (s *Store) deliverShare(ctx context.Context, ds []delivery, part []int, out []delivered) {
	node, only := s.node(ctx, ds[part[0]].holder)
	for _, whole := range []bool{false, true} {
		if node == nil || len(part) < 2 {
			break
		}
		var left []int
		for n, got := range s.writeShare(ctx, node, ds, part, whole) {
			if unsettled(got, whole) || got.err != nil && !only && ctx.Err() == nil {
				left = append(left, part[n])
				continue
			}
			out[part[n]] = got
		}
		part = left
	}
	for _, i := range part {
		out[i].reply, out[i].err = s.deliver(ctx, ds[i])
	}
}

// unsettled reports whether a delivery must be sent again before it is answered.
func unsettled(got delivered, whole bool) bool {
	return !whole && unknownScript(got.err) || got.err == nil && got.reply.word == "incomplete"
}

// writeShare sends several deliveries in one write and waits once.
func (s *Store) writeShare(ctx context.Context, node *redis.Client, ds []delivery, part []int, whole bool) []delivered {
	places := make([]queued, len(part))
	var asked *redis.Cmd // once for all: it asks for everything before it
	cmds, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, i := range part {
			places[n] = s.queue(ctx, p, ds[i], group(ds[i].fields), whole)
		}
		asked = ds[part[0]].acks.ask(ctx, p)
		return nil
	})
	out := make([]delivered, len(part))
	for n, i := range part {
		out[n].reply, out[n].err = ds[i].answer(places[n], cmds, err)
		out[n].reply.replicas = reached(asked)
	}
	return out
}

var errNotSent = errors.New("the pipeline was not sent")
