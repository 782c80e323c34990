package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of Health.
const (
	memoryWarning = 80               // percent of maxmemory
	reloadWarning = 10 * time.Second // of a cluster client that looks more rarely who is master
)

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
	About string // "eviction", "memory", "version", "scripts" or "client"
	Text  string // has no address, key or secret in it
}

// Report is what Health saw. With several masters, each number is that of the
// worst.
type Report struct {
	Masters   int    // servers that were asked
	Cluster   bool   // by a cluster client
	Version   string // empty where the server does not say
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
	r.Masters = len(servers)
	_, r.Cluster = s.client.(*redis.ClusterClient)
	r.version(servers)
	r.eviction(memory, s.accept)
	r.memory(memory)
	if err := s.scripts(ctx, &r); err != nil {
		return Report{}, trouble(ctx, "health", err)
	}
	r.client(s.client)
	return r, nil
}

func (r *Report) version(servers []info) {
	for _, i := range servers {
		if v := i["redis_version"]; r.Version == "" || v != "" && older(v, r.Version) {
			r.Version = v
		}
	}
	switch {
	case r.Version == "":
		r.add(Warning, "version", "the server does not say which version it is")
	case older(r.Version, "6.2"):
		r.add(Fault, "version", "version %s; 6.2 is the oldest that has every command used", plainVersion(r.Version))
	case older(r.Version, "7.0"):
		r.add(Warning, "version", "version %s; nothing below 7.0 is tested", plainVersion(r.Version))
	}
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

// scripts runs the shortest script there is on every master.
func (s *Store) scripts(ctx context.Context, r *Report) error {
	refusals := make(chan error, 1)
	err := s.eachMaster(ctx, func(ctx context.Context, c redis.Cmdable) error {
		err := c.Eval(ctx, "return 1", nil).Err()
		if err == nil || !answered(err) {
			return err
		}
		select {
		case refusals <- err:
		default: // one is enough
		}
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case refusal := <-refusals:
		r.add(Fault, "scripts", "the server does not run scripts for this user: %s", kindOf(refusal))
	default:
	}
	return nil
}

func (r *Report) client(c redis.UniversalClient) {
	const (
		noContext = "ContextTimeoutEnabled is off: the deadline of a context does not reach a read that hangs"
		noTimeout = "a read or write has no time limit of its own"
	)
	switch c := c.(type) {
	case *redis.Client:
		o := c.Options()
		r.settings(o.ContextTimeoutEnabled, noContext)
		r.settings(o.ReadTimeout > 0 && o.WriteTimeout > 0, noTimeout)
	case *redis.ClusterClient:
		o := c.Options()
		r.settings(o.ContextTimeoutEnabled, noContext)
		r.settings(o.ReadTimeout > 0 && o.WriteTimeout > 0, noTimeout)
		r.settings(o.ClusterStateReloadInterval <= reloadWarning,
			fmt.Sprintf("ClusterStateReloadInterval is %v: after a failover the client stays with the dead master for that long", o.ClusterStateReloadInterval))
		if o.ReadOnly {
			r.add(Fault, "client", "reads go to replicas, which may not have a record that was acknowledged")
		}
	default:
		r.add(Warning, "client", "settings of this kind of client are not known and were not checked")
	}
}

func (r *Report) settings(good bool, text string) {
	if !good {
		r.add(Warning, "client", "%s", text)
	}
}
