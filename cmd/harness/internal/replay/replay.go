package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/conversation"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/text"
)

// Scope is whose runs those of a replay are.
func Scope() canonical.Scope { return canonical.Scope{Tenant: "replay"} }

// Screen is told of everything as it happens. Its methods are called from one goroutine.
type Screen interface {
	// Reading tells of a file before it is read, n counted from 1.
	Reading(file string, n, of int)
	// Replayed tells how many of the file's calls have been answered.
	Replayed(calls, of int)
	// End has everything.
	End(Document)
}

// replay is one replay of some files.
type replay struct {
	options  Options
	screen   Screen
	place    *place.Place
	second   *place.Again // reads what was stored
	boundary *boundary.ToolBoundary
	project  projector.Projector

	scope    canonical.Scope
	series   string              // begins the ids of all runs; made by chance, so that their keys can be found again
	runs     int                 // asked for so far
	look     *canonical.Identity // a ready call, to be looked at
	document Document
}

// Run replays the files and tells the screen. The error is of the options (an [*OptionError], a *place.AddressError or a
// *redisstore.URLError), of the server, or of ctx. A file that cannot be read is none, see [Document.Unread], and neither
// is a difference, see [Document.OK].
func Run(ctx context.Context, o Options, screen Screen) (document Document, err error) {
	if err := o.check(); err != nil {
		return Document{}, err
	}
	r := &replay{
		options: o.withDefaults(), screen: screen, project: text.New(text.Options{}),
		scope: Scope(), series: "replay-" + rand.Text() + "-",
		document: Document{Counts: newCounts(), Files: []File{}},
	}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	if err := r.open(ctx); err != nil {
		return Document{}, err
	}
	for i, name := range o.Files {
		screen.Reading(name, i+1, len(o.Files))
		if err := r.file(ctx, name); err != nil {
			return Document{}, place.Because(err)
		}
	}
	if err := r.kept(ctx); err != nil {
		return Document{}, err
	}
	screen.End(r.document)
	return r.document, nil
}

func (r *replay) open(ctx context.Context) (err error) {
	if r.place, err = place.Open(ctx, place.Where{Redis: r.options.Redis, Data: r.options.Data}); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if r.second, err = r.place.Again(ctx); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	r.document.Store = r.place.Name
	r.boundary, err = boundary.New(boundary.Config{
		Store: r.place.Store, Authorizer: boundary.AllowAll{}, Now: r.place.Now,
		Limits: canonical.Limits{ToolTimeout: projectionLimit, ProjectorTimeout: projectionLimit, ClosingTimeout: closingLimit},
	})
	return err
}

// file replays one file. The error is one that the next file would meet, too.
func (r *replay) file(ctx context.Context, name string) error {
	all, err := read(name)
	if err != nil {
		r.document.Unread = append(r.document.Unread, fmt.Errorf("replay: %w", err))
		return nil
	}
	counts, err := r.conversations(ctx, all)
	if err != nil {
		return err
	}
	r.document.Files = append(r.document.Files, File{Name: name, Counts: counts})
	r.document.add(counts)
	return nil
}

// read takes no more of a file into memory than the reader of conversations accepts.
func read(name string) ([]conversation.Conversation, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, conversation.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return conversation.Read(name, data)
}

// kept looks at what stays behind, on a server from outside.
func (r *replay) kept(ctx context.Context) (err error) {
	if !r.options.Keep {
		return nil
	}
	k := Kept{NeedsPassword: r.place.NeedsPassword()}
	if r.look != nil {
		k.LookWith = r.place.Command(r.look.RunKey, r.look.Call)
	}
	k.Keys, err = r.place.CountSeries(ctx, r.scope, r.series)
	r.document.Kept = k
	return err
}

// closing bounds what is done after the end, also after an interrupt.
const closing = 30 * time.Second

// close removes the keys, unless they are to be kept, and closes what was opened.
func (r *replay) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	var problems []error
	if r.boundary != nil {
		problems = append(problems, r.boundary.Shutdown(ctx))
	}
	if r.second != nil {
		problems = append(problems, r.second.Close())
	}
	if r.place != nil {
		if r.runs > 0 && !r.options.Keep && r.place.Embedded == nil {
			problems = append(problems, r.place.Outside.RemoveSeries(ctx, r.scope, r.series))
		}
		problems = append(problems, r.place.Close())
	}
	return errors.Join(problems...)
}
