package kill

import (
	"context"
	"encoding/json"
	"net"
	"sync"

	"github.com/toolharness/harness/canonical"
)

// tap watches the one call of a process that is to be killed: it tells each
// phase, and holds the process in one of them.
type tap struct {
	answers *json.Encoder
	hold    Phase // empty: nowhere

	mu    sync.Mutex
	call  int // that is watched; -1 for none
	size  int // of its result
	told  map[Phase]bool
	verb  string // message under way
	wrote int    // bytes of it on the wire
}

// watch begins with a call.
func (t *tap) watch(call, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.call, t.size, t.told = call, size, map[Phase]bool{}
}

// at tells a phase, once, and stays in it if that was asked for.
func (t *tap) at(p Phase) {
	t.mu.Lock()
	skip := t.told == nil || t.told[p]
	if !skip {
		t.told[p] = true
		_ = t.answers.Encode(Word{Call: t.call, Phase: p}) // a parent that does not listen is gone, and so are we soon
	}
	t.mu.Unlock()
	if !skip && t.hold == p {
		select {} // until the parent kills us
	}
}

func (t *tap) tell(w Word) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answers.Encode(w)
}

// begin and end are around one message to the store.
func (t *tap) begin(verb string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.verb, t.wrote = verb, 0
}

func (t *tap) end() { t.begin("") }

// onWire tells how much of a message has been sent.
func (t *tap) onWire(n int) {
	t.mu.Lock()
	t.wrote += n
	half := t.size >= largeBytes && t.wrote >= t.size/2 && t.wrote < t.size
	partial := map[string]Phase{"save": SavePartial, "complete": CompletePartial}[t.verb]
	t.mu.Unlock()
	if half && partial != "" {
		t.at(partial)
	}
}

// awaited says that an answer is waited for: the message is whole on the wire.
func (t *tap) awaited() {
	t.mu.Lock()
	sent := map[string]Phase{"admit": AdmitSent, "save": SaveSent, "complete": CompleteSent}[t.verb]
	begun := t.wrote > 0
	t.mu.Unlock()
	if begun && sent != "" {
		t.at(sent)
	}
}

// tapStore tells the messages of a call apart.
type tapStore struct {
	canonical.Store
	tap *tap
}

// Admit implements [canonical.Calls].
func (s tapStore) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	s.tap.at(Admitting)
	s.tap.begin("admit")
	got, err := s.Store.Admit(ctx, a)
	s.tap.end()
	s.tap.at(Admitted)
	return got, err
}

// Save implements [canonical.Calls].
func (s tapStore) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	s.tap.begin("save")
	got, err := s.Store.Save(ctx, m)
	s.tap.end()
	s.tap.at(Saved)
	return got, err
}

// Complete implements [canonical.Calls].
func (s tapStore) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	s.tap.begin("complete")
	got, err := s.Store.Complete(ctx, e)
	s.tap.end()
	s.tap.at(Completed)
	return got, err
}

// tapConn watches the bytes.
type tapConn struct {
	net.Conn
	tap *tap
}

func (t *tap) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return tapConn{conn, t}, nil
}

// chunk is how much goes out at a time, so that half of a long message can be on
// the wire.
const chunk = 32 << 10

// Write sends p and tells.
func (c tapConn) Write(p []byte) (int, error) {
	sent := 0
	for {
		n, err := c.Conn.Write(p[sent:min(sent+chunk, len(p))])
		sent += n
		c.tap.onWire(n)
		if err != nil || sent == len(p) {
			return sent, err
		}
	}
}

// Read tells that the message is on its way, and waits.
func (c tapConn) Read(p []byte) (int, error) {
	c.tap.awaited()
	return c.Conn.Read(p)
}
