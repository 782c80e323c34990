package retrieval

import (
	"container/list"
	"sync"

	"github.com/toolharness/harness/canonical"
)

// viewKey names a view by all that it depends on: whose bytes, which bytes, and
// by which rules they are shown. Another value of any is another view.
type viewKey struct {
	identity    canonical.Identity
	raw         string // digest
	fingerprint string // of the redactor
}

// view is a redacted text that was made of verified bytes.
type view struct {
	key    viewKey
	text   string
	sha256 string
}

// viewCache keeps the views that were used last, up to a number of bytes. It is
// only a way to save work: whether a record still exists, and still has the bytes
// of the key, is asked of the store before every use.
type viewCache struct {
	limit int64

	mu    sync.Mutex
	bytes int64
	order *list.List // of *view, the last used first
	index map[viewKey]*list.Element
}

// viewOverhead is what an entry takes beside its text, generously.
const viewOverhead = 1 << 10

func (v *view) cost() int64 { return int64(len(v.text)) + viewOverhead }

func newViewCache(limit int64) *viewCache {
	return &viewCache{limit: max(limit, 0), order: list.New(), index: map[viewKey]*list.Element{}}
}

// get returns a view, or nil.
func (c *viewCache) get(key viewKey) *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.index[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*view)
}

// put keeps a view. One that is larger than a half of the room is not kept: it
// would drive out all others.
func (c *viewCache) put(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index[v.key] != nil || v.cost() > c.limit/2 {
		return
	}
	c.index[v.key] = c.order.PushFront(v)
	for c.bytes += v.cost(); c.bytes > c.limit; {
		last := c.order.Remove(c.order.Back()).(*view)
		delete(c.index, last.key)
		c.bytes -= last.cost()
	}
}
