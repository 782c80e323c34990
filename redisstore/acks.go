package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// replicaTimeout is the wait for replicas where the options say nothing. A replica
// in the same place answers within a millisecond.
const replicaTimeout = 500 * time.Millisecond

// maxReplicas bounds Options.Replicas: beyond it a number is a slip.
const maxReplicas = 100

// acks is what is asked of replicas behind a message: how many must have it, and
// how long to wait for them. The zero value asks for none.
//
// The question is WAIT. It goes to the same connection in the same write, behind
// the script or the EXEC: inside MULTI it does not wait, in Lua it is refused, and
// on another connection it would ask about another client's writes.
type acks struct {
	replicas int
	timeout  time.Duration
}

// acks checks what the options ask of replicas against the client that will ask.
func (o *Options) acks(client redis.UniversalClient) (acks, error) {
	switch {
	case o.Replicas < 0 || o.Replicas > maxReplicas:
		return acks{}, &OptionError{Field: "Replicas", Reason: "not within 0 to 100"}
	case o.Replicas == 0 && o.ReplicaTimeout != 0:
		return acks{}, &OptionError{Field: "ReplicaTimeout", Reason: "is set, and Replicas is not"}
	case o.Replicas == 0:
		return acks{}, nil
	}
	read, known := readTimeout(client)
	if !known {
		return acks{}, &OptionError{Field: "Replicas", Reason: "needs a client of one server, of a Sentinel group or of a cluster"}
	}
	wait := cmp.Or(o.ReplicaTimeout, replicaTimeout)
	switch {
	case wait < time.Millisecond:
		return acks{}, &OptionError{Field: "ReplicaTimeout", Reason: "below a millisecond"}
	case read > 0 && 2*wait >= read:
		return acks{}, &OptionError{Field: "ReplicaTimeout", Reason: fmt.Sprintf("%v is not below half of the client's ReadTimeout, %v", wait, read)}
	}
	return acks{replicas: o.Replicas, timeout: wait}, nil
}

// readTimeout is what one read of the client may take, 0 without a limit.
func readTimeout(client redis.UniversalClient) (limit time.Duration, known bool) {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ReadTimeout, true
	case *redis.ClusterClient:
		return c.Options().ReadTimeout, true
	default:
		return 0, false
	}
}

// ask puts the question behind what is in the pipeline.
func (a acks) ask(ctx context.Context, p redis.Pipeliner) *redis.Cmd {
	if a.replicas == 0 {
		return nil
	}
	return p.Do(ctx, "wait", a.replicas, a.timeout.Milliseconds())
}

// reached is the answer. A question that was refused, for a user who may not ask
// it for instance, reached nobody.
func reached(asked *redis.Cmd) int {
	if asked == nil {
		return 0
	}
	n, err := asked.Int()
	if err != nil {
		return 0
	}
	return n
}

// strengthOf is how an acknowledgement is reported.
func strengthOf(replicas int) evidence.Strength {
	if replicas == 0 {
		return evidence.StrengthMemory
	}
	return evidence.Strength(fmt.Sprintf("replicas:%d", replicas))
}

// weak reports whether an admission stands that too few replicas have.
func (s *Store) weak(got canonical.Admitted, r reply) bool {
	return r.replicas < s.acks.replicas && got.State == lifecycle.Projecting
}

// withdrawal is how an admission ends that too few replicas have.
func withdrawal(a canonical.Admission) canonical.Ending {
	return canonical.Ending{
		Run: a.Run, Call: a.Call, Claim: a.Claim, Seen: a.Seen, Stage: canonical.StageStore,
		Verdict: lifecycle.Fail(lifecycle.StoreUnavailable, lifecycle.NotStarted),
	}
}

// withdraw ends admissions that too few replicas have, all in one trip, and gives
// the refusals. From here on nothing else may be sent for their claims, so an end
// that was not acknowledged is a refusal too; the caller may send the same end again.
func (s *Store) withdraw(ctx context.Context, admissions []canonical.Admission, replicas []int) []error {
	refusals := make([]error, len(admissions))
	endings := make([]delivery, len(admissions))
	for i, a := range admissions {
		no := refused("admit", a.Call, canonical.ErrStrength)
		no.Wanted, no.Limit = int64(s.acks.replicas), int64(replicas[i])
		refusals[i] = no
		d, err := s.completion(withdrawal(a))
		if err != nil { // which only a record of ours can cause, and this one has no body
			return refusals
		}
		d.acks = acks{} // it was just seen that they do not answer
		endings[i] = d
	}
	for i, got := range s.deliverAll(ctx, endings) {
		if got.err == nil && (got.reply.word == "ended" || got.reply.word == "repeat") {
			refusals[i].(*canonical.RefusedError).First = lifecycle.Error
		}
	}
	return refusals
}
