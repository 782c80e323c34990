package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// memoryWarning is the share of maxmemory, in percent, from which Health warns.
const memoryWarning = 80

// Level says how much a finding matters.
type Level string

// The levels.
const (
	Fault   Level = "fault"   // a promise of the store does not hold here
	Warning Level = "warning" // it holds, and may soon not, or could not be checked
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Level Level
	About string // "eviction", "memory", "version", "scripts", "role", "replicas" or "client"
	Text  string // has no address, key or secret in it
}

// Report is what Health saw. With several masters, each number is that of the
// worst.
type Report struct {
	Masters   int    // servers that were asked
	Replicas  int    // connected to the master that has the fewest
	Cluster   bool   // by a cluster client
	Version   string // empty where the server does not say; Valkey's own where it is one
	Policy    string // maxmemory-policy, empty where the server does not say
	UsedBytes int64
	MaxBytes  int64 // 0: no limit, or the server does not say
	Findings  []Finding
}

// OK reports that there is no fault; there may be warnings.
func (r Report) OK() bool {
	for _, f := range r.Findings {
		if f.Level == Fault {
			return false
		}
	}
	return true
}

func (r *Report) add(level Level, about, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Level: level, About: about, Text: fmt.Sprintf(format, args...)})
}

// Health asks every master for its version, memory and eviction policy, whether
// scripts may run, and looks at the settings of the client. The error is trouble
// on the way; what is wrong with a server that answers is a finding. It writes
// nothing.
func (s *Store) Health(ctx context.Context) (Report, error) {
	var r Report
	servers, err := s.infos(ctx, "server")
	if err != nil {
		return Report{}, trouble(ctx, "health", err)
	}
	memory, err := s.infos(ctx, "memory")
	if err != nil {
		return Report{}, trouble(ctx, "health", err)
	}
	replication, err := s.infos(ctx, "replication")
	if err != nil {
		return Report{}, trouble(ctx, "health", err)
	}
	r.Masters = len(servers)
	_, r.Cluster = s.client.(*redis.ClusterClient)
	r.version(servers)
	r.roles(replication)
	r.eviction(memory, s.accept)
	r.memory(memory)
	if err := s.scripts(ctx, &r); err != nil {
		return Report{}, trouble(ctx, "health", err)
	}
	if err := s.replicas(ctx, &r); err != nil {
		return Report{}, trouble(ctx, "health", err)
	}
	r.client(s.client)
	return r, nil
}

func (r *Report) version(servers []info) {
	valkey := false
	for _, i := range servers {
		v := i["redis_version"]
		if own := i["valkey_version"]; own != "" {
			v, valkey = own, true
		}
		if r.Version == "" || v != "" && older(v, r.Version) {
			r.Version = v
		}
	}
	switch {
	case r.Version == "":
		r.add(Warning, "version", "the server does not say which version it is")
	case valkey:
		r.add(Warning, "version", "Valkey %s; Valkey is not tested", plainVersion(r.Version))
	case older(r.Version, "6.2"):
		r.add(Fault, "version", "version %s; 6.2 is the oldest that has every command used", plainVersion(r.Version))
	case older(r.Version, "7.0"):
		r.add(Warning, "version", "version %s; nothing below 7.0 is tested", plainVersion(r.Version))
	}
}

// roles looks for servers that were taken for masters and are none.
func (r *Report) roles(servers []info) {
	r.Replicas = fewestReplicas(servers)
	for _, i := range servers {
		if role := i["role"]; role != "" && role != "master" {
			r.add(Fault, "role", "the server is a replica: it refuses every write")
			return
		}
	}
}

func fewestReplicas(servers []info) int {
	fewest := -1
	for _, i := range servers {
		n, _ := strconv.Atoi(i["connected_slaves"]) // what is no number is none
		if fewest < 0 || n < fewest {
			fewest = n
		}
	}
	return max(fewest, 0)
}

// older compares versions by their first two numbers.
func older(a, b string) bool {
	major, minor := twoNumbers(a)
	otherMajor, otherMinor := twoNumbers(b)
	return major < otherMajor || major == otherMajor && minor < otherMinor
}

func twoNumbers(version string) (major, minor int) {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, _ = strconv.Atoi(first) // what is no number is the oldest
	minor, _ = strconv.Atoi(second)
	return major, minor
}

// plainVersion repeats only what a version is made of.
func plainVersion(v string) string {
	major, minor := twoNumbers(v)
	return fmt.Sprintf("%d.%d", major, minor)
}

func (r *Report) eviction(memory []info, accepted bool) {
	r.Policy = worstPolicy(memory)
	switch {
	case r.Policy == "":
		r.add(Warning, "eviction", "the server does not say whether it evicts keys")
	case evicts(r.Policy) && accepted:
		r.add(Warning, "eviction", "maxmemory-policy is %s, which was accepted: a guard that is evicted lets a call run twice", r.Policy)
	case evicts(r.Policy):
		r.add(Fault, "eviction", "maxmemory-policy is %s; no run is opened unless it is noeviction", r.Policy)
	}
}

func (r *Report) memory(memory []info) {
	share := int64(-1)
	for _, i := range memory {
		var n numbers
		used, most := n.int(i["used_memory"]), n.int(i["maxmemory"])
		if n.bad {
			continue
		}
		if percent := 100 * used / max(most, 1); most > 0 && percent > share {
			share, r.UsedBytes, r.MaxBytes = percent, used, most
		} else if share < 0 && used > r.UsedBytes {
			r.UsedBytes = used
		}
	}
	if share >= memoryWarning {
		r.add(Warning, "memory", "%d %% of maxmemory is used; when it is full, calls end with nothing stored", share)
	}
}

// replicas looks whether what is asked of replicas can be had.
func (s *Store) replicas(ctx context.Context, r *Report) error {
	if s.acks.replicas == 0 {
		return nil
	}
	if r.Replicas < s.acks.replicas {
		r.add(Fault, "replicas", "%d connected where %d must have an admission: no call can be entered", r.Replicas, s.acks.replicas)
	}
	refusal, err := s.firstRefusal(ctx, func(ctx context.Context, c redis.UniversalClient) error { return c.Do(ctx, "wait", 0, 1).Err() })
	if refusal != nil {
		r.add(Fault, "replicas", "the server does not let this user ask replicas: %s", kindOf(refusal))
	}
	return err
}

// scripts runs the shortest script there is on every master.
func (s *Store) scripts(ctx context.Context, r *Report) error {
	refusal, err := s.firstRefusal(ctx, func(ctx context.Context, c redis.UniversalClient) error { return c.Eval(ctx, "return 1", nil).Err() })
	if refusal != nil {
		r.add(Fault, "scripts", "the server does not run scripts for this user: %s", kindOf(refusal))
	}
	return err
}

// firstRefusal asks every master and gives one refusal, if there was any; err is
// trouble on the way.
func (s *Store) firstRefusal(ctx context.Context, ask func(context.Context, redis.UniversalClient) error) (refusal, err error) {
	refusals := make(chan error, 1)
	err = s.eachMaster(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		err := ask(ctx, c)
		if err == nil || !answered(err) {
			return err
		}
		select {
		case refusals <- err:
		default: // one is enough
		}
		return nil
	})
	select {
	case refusal = <-refusals:
	default:
	}
	return refusal, err
}
