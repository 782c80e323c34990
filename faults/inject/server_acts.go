package inject

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolharness/harness/faults/proxy"
)

// killed leaves the server dead; revive starts it again.
func killed(_ context.Context, x *wireTry) error { return x.server.kill() }

func (b *bed) revive(context.Context) error {
	if b.server.Pid() != 0 {
		return nil
	}
	return b.server.start()
}

// scriptFlushes: the server forgets all scripts just before a message.
func scriptFlushes() []serverFault {
	var all []wireFault
	for _, w := range everyForm() {
		w.name = "SCRIPT FLUSH"
		w.do = func(ctx context.Context, x *wireTry) error { return x.client.ScriptFlush(ctx).Err() }
		all = append(all, w)
		if w.form != bare {
			w.part = proxy.PartPayload
			all = append(all, w)
		}
	}
	return struckAt(all...)
}

// pauses: the server answers nobody for a while, within what a client waits for
// and beyond it.
func pauses() []serverFault {
	var all []wireFault
	for _, w := range everyForm() {
		w.name = "CLIENT PAUSE"
		w.do = func(ctx context.Context, x *wireTry) error {
			return x.client.ClientPause(ctx, lateness(x.line.Seed)).Err()
		}
		all = append(all, w)
	}
	return struckAt(all...)
}

// busyScript keeps the server busy for ARGV[1] ms.
const busyScript = `local t = redis.call('TIME')
local stop = t[1] * 1000 + t[2] / 1000 + ARGV[1]
while true do
  t = redis.call('TIME')
  if t[1] * 1000 + t[2] / 1000 > stop then return 1 end
end`

// busy: somebody else's script holds the server, which answers BUSY. It holds it
// for longer than the client tries, half of the time.
func busy() []serverFault {
	var all []wireFault
	for _, w := range everyForm() {
		w.name, w.lenient, w.do, w.undo = "BUSY script", true, keepBusy, (*bed).idle
		all = append(all, w)
	}
	return struckAt(all...)
}

func keepBusy(ctx context.Context, x *wireTry) error {
	hold := 40 + 400*(x.line.Seed%2)
	done := make(chan error, 1)
	go func() { done <- x.client.Eval(ctx, busyScript, nil, hold).Err() }()
	x.background = done
	time.Sleep(15 * time.Millisecond) // until the server has begun to answer BUSY
	return nil
}

// idle waits until the server is free again.
func (b *bed) idle(ctx context.Context) error {
	for range 200 {
		err := b.client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the server does not become free")
}

// memory: the server has no room any more (P47); afterwards it has.
func memory() []serverFault {
	var all []wireFault
	for _, w := range everyForm() {
		w.name, w.undo = "maxmemory reached", (*bed).room
		w.lenient = w.script != "delete" // which needs no room, and makes some
		w.do = func(ctx context.Context, x *wireTry) error { return x.client.ConfigSet(ctx, "maxmemory", "1").Err() }
		all = append(all, w)
	}
	return struckAt(all...)
}

func (b *bed) room(ctx context.Context) error { return b.client.ConfigSet(ctx, "maxmemory", "0").Err() }

// foreignTypes: one of the call's keys turns out to be somebody else's.
func foreignTypes() []serverFault {
	var all []wireFault
	for _, key := range []string{"run", "order", "open", "effects", "call"} {
		for _, w := range ofCall() {
			if w.script != "admit" && key == "order" {
				continue // no other script looks at it
			}
			if w.script == "save" && key == "open" {
				continue
			}
			w.name, w.note, w.gone, w.do = "foreign type", "key "+key, "foreign", plant(key)
			all = append(all, w)
		}
	}
	return struckAt(all...)
}

const planted = "somebody else's"

func plant(key string) func(context.Context, *wireTry) error {
	return func(ctx context.Context, x *wireTry) error {
		full := x.line.Base + key
		if key == "call" {
			full += ":" + x.call.String()
		}
		x.foreign = full
		return x.client.Set(ctx, full, planted, time.Hour).Err()
	}
}

// untouched checks that what was planted is as it was.
func (x *wireTry) untouched(ctx context.Context) {
	if x.foreign == "" {
		return
	}
	text, err := x.client.Get(ctx, x.foreign).Result()
	if x.must("look at the foreign key", err); err == nil && text != planted {
		x.broke("a foreign key was changed to %q", strings.ToValidUTF8(text, "?"))
	}
}

// expiries: the record goes while its result is on the way, in pieces (P11), or
// while the server has lost the script and the client dies (P10).
func expiries() []serverFault {
	var all []wireFault
	for _, script := range []string{"save", "complete"} {
		for _, f := range []form{bare, multi, pieces} {
			w := wireFault{script: script, form: f, place: proxy.Before, kind: proxy.Pass, name: "record expires", gone: "expired", do: expire}
			if f != bare {
				w.part = proxy.PartPayload
			}
			all = append(all, w)
		}
	}
	all = append(all,
		wireFault{script: "attach", form: pieces, part: proxy.PartPayload, place: proxy.Before, name: "record expires", note: "between pieces (P11)", gone: "expired", do: expire},
		wireFault{script: "attach", form: pieces, part: proxy.PartPayload, place: proxy.Before, name: "record expires", note: "between pieces, client dies (P11)", gone: "expired", do: expireAndDie, dies: true},
		wireFault{script: "attach", form: multi, part: proxy.PartPayload, place: proxy.Before, name: "record expires", note: "script lost, client dies", gone: "expired", do: expireAndForget, dies: true},
	)
	for _, f := range []form{multi, pieces} {
		all = append(all, wireFault{script: "complete", form: f, part: proxy.PartPayload, place: proxy.Before, name: "NOSCRIPT, client dies, record expires (P10)",
			note: "expires first", gone: "expired", do: expireAndForget, dies: true})
		all = append(all, wireFault{script: "complete", form: f, place: proxy.Before, name: "NOSCRIPT, client dies, record expires (P10)",
			note: "expires last", gone: "expired", do: forget, dies: true})
	}
	return struckAt(all...)
}

// expire ends the life of the record now.
func expire(ctx context.Context, x *wireTry) error {
	return x.client.PExpireAt(ctx, x.line.Base+"call:"+x.call.String(), time.UnixMilli(1)).Err()
}

// expireAndDie ends the record's life between two pieces; the piece that is on its
// way arrives, and nothing after it.
func expireAndDie(ctx context.Context, x *wireTry) error {
	for _, script := range []string{"attach", "save", "complete"} {
		x.proxy.Arm(proxy.Fault{Script: script, Place: proxy.Before, Kind: proxy.Cut, Times: proxy.Always})
	}
	return expire(ctx, x)
}

// forget empties the script cache, and lets no further delivery through: the
// client has died before it could repair. The record expires when it is over.
func forget(ctx context.Context, x *wireTry) error {
	x.proxy.Arm(proxy.Fault{Script: "complete", Place: proxy.Before, Kind: proxy.Cut, Times: proxy.Always})
	x.later = append(x.later, func(ctx context.Context) error { return expire(ctx, x) })
	return x.client.ScriptFlush(ctx).Err()
}

// expireAndForget ends the record's life before HSET brings its key back.
func expireAndForget(ctx context.Context, x *wireTry) error {
	if err := expire(ctx, x); err != nil {
		return err
	}
	for _, script := range []string{"save", "complete"} {
		x.proxy.Arm(proxy.Fault{Script: script, Place: proxy.Before, Kind: proxy.Cut, Times: proxy.Always})
	}
	return x.client.ScriptFlush(ctx).Err()
}
