package redisstore

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of a client that is handed in.
const (
	reloadWarning = 10 * time.Second // of a cluster client that looks more rarely who is master
	dialWarning   = 10 * time.Second // of one that waits longer for a node that does not answer, before it asks another
)

// client checks the settings of the client that the store was given, each under
// the name that it has in go-redis.
func (r *Report) client(c redis.UniversalClient) {
	switch c := c.(type) {
	case *redis.Client:
		o := c.Options()
		r.connections(o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout)
		if o.ClientSideCache != nil || o.ClientSideCacheConfig != nil {
			r.add(Fault, "client", "ClientSideCache is on: a read may be answered from a time before the last write")
		}
	case *redis.ClusterClient:
		o := c.Options()
		r.connections(o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout)
		r.cluster(o)
	default:
		r.add(Warning, "client", "settings of this kind of client are not known and were not checked")
	}
}

func (r *Report) connections(context bool, read, write time.Duration) {
	if !context {
		r.add(Warning, "client", "ContextTimeoutEnabled is off: the deadline of a context does not reach a read that hangs")
	}
	if read <= 0 {
		r.add(Warning, "client", "ReadTimeout is off: a read has no time limit of its own")
	}
	if write <= 0 {
		r.add(Warning, "client", "WriteTimeout is off: a write has no time limit of its own")
	}
}

func (r *Report) cluster(o *redis.ClusterOptions) {
	if o.ClusterStateReloadInterval > reloadWarning {
		r.add(Warning, "client", "ClusterStateReloadInterval is %v: after a failover the client stays with the dead master for that long", o.ClusterStateReloadInterval)
	}
	if all := o.DialTimeout * time.Duration(max(o.DialerRetries, 1)); all > dialWarning {
		r.add(Warning, "client", "DialTimeout %v with DialerRetries %d: a node that does not answer is given up after %v, and the client hears of no failover before", o.DialTimeout, o.DialerRetries, all)
	}
	if o.MaxRedirects < 1 {
		r.add(Fault, "client", "MaxRedirects is off: a slot that has moved is not followed")
	}
	for _, route := range []struct {
		name string
		on   bool
	}{{"RouteByLatency", o.RouteByLatency}, {"RouteRandomly", o.RouteRandomly}, {"ReadOnly", o.ReadOnly && !o.RouteByLatency && !o.RouteRandomly}} {
		if route.on {
			r.add(Fault, "client", "%s is on: reads go to replicas, which may not have a record that was acknowledged", route.name)
		}
	}
	if o.ClusterSlots != nil {
		r.add(Warning, "client", "ClusterSlots is set: who is master is not what the cluster says")
	}
}
