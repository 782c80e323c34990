package redistest

import (
	"context"
	"errors"
)

// SlotMove is a slot on its way from one primary to another. Until Finish, the
// old one answers ASK for keys that have gone; afterwards MOVED.
type SlotMove struct {
	c        *ClusterNodes
	slot     int
	from, to *Process
}

// Move begins to move the slot of a key to another primary. No key moves by it.
func (c *ClusterNodes) Move(key string, to *Process) *SlotMove {
	c.t.Helper()
	m := &SlotMove{c: c, slot: c.Slot(key), from: c.Primary(key), to: to}
	c.must("begin a move", errors.Join(
		to.client.Do(context.Background(), "cluster", "setslot", m.slot, "importing", c.id(m.from)).Err(),
		m.from.client.Do(context.Background(), "cluster", "setslot", m.slot, "migrating", c.id(to)).Err(),
	))
	return m
}

// Carry moves keys of the slot, all that are there unless some are named.
func (m *SlotMove) Carry(keys ...string) {
	m.c.t.Helper()
	if len(keys) == 0 {
		all, err := m.from.client.ClusterGetKeysInSlot(context.Background(), m.slot, 10_000).Result()
		m.c.must("list the keys of a slot", err)
		keys = all
	}
	if len(keys) == 0 {
		return
	}
	args := []any{"migrate", "127.0.0.1", m.to.spec.port, "", 0, 5000, "keys"}
	for _, key := range keys {
		args = append(args, key)
	}
	m.c.must("carry keys", m.from.client.Do(context.Background(), args...).Err())
}

// Finish carries what is left and makes the new primary the owner. The nodes that
// have no part in it learn that by gossip, later.
func (m *SlotMove) Finish() {
	m.c.t.Helper()
	m.Carry()
	id := m.c.id(m.to)
	for _, p := range []*Process{m.to, m.from} { // in this order nobody is ever without an owner
		m.c.must("finish a move", p.client.Do(context.Background(), "cluster", "setslot", m.slot, "node", id).Err())
	}
}

func (c *ClusterNodes) id(p *Process) string {
	c.t.Helper()
	id, err := p.client.ClusterMyID(context.Background()).Result()
	c.must("ask a node for its name", err)
	return id
}
