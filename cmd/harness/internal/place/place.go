package place

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
)

// Place is where the records are: the store, a look at it from outside, and its clock.
type Place struct {
	Name     string // "redis" or "embedded"
	Store    *redisstore.Store
	Outside  *Outside
	Embedded *embedded.Server // nil on a Redis

	address string // may hold a password
}

// Open connects to the server at the address, or starts an embedded one where it is empty. The error is an
// [*AddressError], has a *redisstore.URLError in its chain, or is the server's. None repeats any part of the address.
func Open(ctx context.Context, address string) (*Place, error) {
	if address == "" {
		return openEmbedded()
	}
	store, err := redisstore.Dial(ctx, address, nil)
	if err != nil {
		return nil, fmt.Errorf("the given Redis cannot be used: %w", err)
	}
	look, err := newOutside(address)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Place{Name: "redis", Store: store, Outside: look, address: address}, nil
}

func openEmbedded() (*Place, error) {
	server, err := embedded.Start()
	if err != nil {
		return nil, err
	}
	address := "redis://" + server.Addr()
	look, err := newOutside(address)
	if err != nil {
		server.Close()
		return nil, err
	}
	return &Place{Name: "embedded", Store: server.Store(), Outside: look, Embedded: server, address: address}, nil
}

// Again is another store on the same server, with a client of its own. The caller closes it.
func (p *Place) Again(ctx context.Context) (*redisstore.Store, error) {
	store, err := redisstore.Dial(ctx, p.address, nil)
	if err != nil {
		return nil, fmt.Errorf("the Redis cannot be reached by a second client: %w", err)
	}
	return store, nil
}

// Now is the clock for a boundary, which must move with the store's where that is moved.
func (p *Place) Now() time.Time {
	if p.Embedded != nil {
		return p.Embedded.Now()
	}
	return time.Now()
}

// Close ends the connections, and with an embedded server everything that it held.
func (p *Place) Close() error {
	err := p.Outside.close()
	if p.Embedded != nil {
		p.Embedded.Close()
		return err
	}
	return errors.Join(err, p.Store.Close())
}

// Because adds to an error of the boundary what the store says of it, which the boundary leaves out: it does not know
// that these texts never hold an address, a key or a body.
func Because(err error) error {
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

// Lost tells a server that is gone from a broken promise, by the code of an outcome. Each further call would wait for it
// again.
func Lost(code boundary.Code) bool {
	return code == lifecycle.StoreUnavailable || code == lifecycle.ResultNotStored
}

// AddressError means that an address names no single server: a cluster's or a Sentinel group's keys cannot be looked at
// from outside with one client. It repeats no part of the address, which may hold a password.
type AddressError struct{}

// Error names the forms that can be used.
func (*AddressError) Error() string {
	return "the address must name one server, as redis://, rediss:// or unix://"
}
