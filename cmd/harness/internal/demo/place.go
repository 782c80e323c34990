package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
)

// place is where the records are: the store, a look at it from outside, and its clock.
type place struct {
	name     string
	store    *redisstore.Store
	outside  *outside
	embedded *embedded.Server // nil on a Redis
}

func openPlace(ctx context.Context, address string) (*place, error) {
	if address == "" {
		return openEmbedded()
	}
	store, err := redisstore.Dial(ctx, address, nil)
	if err != nil {
		return nil, fmt.Errorf("demo: the given Redis cannot be used: %w", err)
	}
	look, err := newOutside(address)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &place{name: "redis", store: store, outside: look}, nil
}

func openEmbedded() (*place, error) {
	server, err := embedded.Start()
	if err != nil {
		return nil, err
	}
	look, err := newOutside("redis://" + server.Addr())
	if err != nil {
		server.Close()
		return nil, err
	}
	return &place{name: "embedded", store: server.Store(), outside: look, embedded: server}, nil
}

// now is the clock for the boundary, which must move with the store's where that is moved.
func (p *place) now() time.Time {
	if p.embedded != nil {
		return p.embedded.Now()
	}
	return time.Now()
}

func (p *place) close() error {
	err := p.outside.close()
	if p.embedded != nil {
		p.embedded.Close()
		return err
	}
	return errors.Join(err, p.store.Close())
}

// because adds to an error of the boundary what the store says of it, which the boundary leaves out: it does not know
// that these texts never hold an address, a key or a body.
func because(err error) error {
	var ours *boundary.Error
	var trouble *redisstore.Error
	var eviction *redisstore.EvictionError
	switch {
	case !errors.As(err, &ours):
		return err
	case errors.As(err, &eviction):
		return fmt.Errorf("%w: %s", err, eviction.Error())
	case errors.As(err, &trouble):
		return fmt.Errorf("%w: %s", err, trouble.Error())
	}
	return err
}
