package place

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/localstore"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
)

// The names of places.
const (
	NameRedis    = "redis"
	NameEmbedded = "embedded"
	NameLocal    = "local"
)

// Where says where records are. The zero value is the embedded store; at most one field is set.
type Where struct {
	Redis string // address of a server; may hold a password
	Data  string // directory of a local store
}

// Place is where the records are: the store, a look at it from outside, and its clock.
type Place struct {
	Name     string // "redis", "embedded" or "local"
	Store    canonical.Store
	Outside  *Outside         // nil on a local store, whose file one process holds
	Embedded *embedded.Server // nil elsewhere

	where Where
	close func() error
}

// Open connects to the server at the address, or opens the local store in the directory, which is made where it is
// missing, or starts an embedded server. The error is an [*AddressError], has a *redisstore.URLError or a
// *localstore.FileError in its chain, or is the server's. None repeats any part of the address.
func Open(ctx context.Context, where Where) (*Place, error) {
	switch {
	case where.Redis != "" && where.Data != "":
		return nil, &WhereError{}
	case where.Data != "":
		return openLocal(where)
	case where.Redis == "":
		return openEmbedded()
	}
	return openRedis(ctx, where)
}

func openRedis(ctx context.Context, where Where) (*Place, error) {
	address := where.Redis
	store, err := redisstore.Dial(ctx, address, nil)
	if err != nil {
		return nil, fmt.Errorf("the given Redis cannot be used: %w", err)
	}
	look, err := newOutside(address)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Place{Name: NameRedis, Store: store, Outside: look, where: where, close: store.Close}, nil
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
	return &Place{
		Name: NameEmbedded, Store: server.Store(), Outside: look, Embedded: server, where: Where{Redis: address},
		close: func() error { server.Close(); return nil },
	}, nil
}

// Again is another store on the same server, with a client of its own; the caller closes it. On a local store it is the
// same store, which its end does not close: nobody else may have the file meanwhile.
func (p *Place) Again(ctx context.Context) (*Again, error) {
	if p.Name == NameLocal {
		return &Again{Store: p.Store}, nil
	}
	store, err := redisstore.Dial(ctx, p.where.Redis, nil)
	if err != nil {
		return nil, fmt.Errorf("the Redis cannot be reached by a second client: %w", err)
	}
	return &Again{Store: store, close: store.Close}, nil
}

// Again is what [Place.Again] gives.
type Again struct {
	canonical.Store
	close func() error
}

// Close ends the connections that it made, if any.
func (a *Again) Close() error {
	if a.close == nil {
		return nil
	}
	return a.close()
}

// Now is the clock for a boundary, which must move with the store's where that is moved.
func (p *Place) Now() time.Time {
	if p.Embedded != nil {
		return p.Embedded.Now()
	}
	return time.Now()
}

// Close ends the connections, lets a local store's file go, and ends an embedded server with everything that it held.
func (p *Place) Close() error {
	var err error
	if p.Outside != nil {
		err = p.Outside.close()
	}
	return errors.Join(err, p.close())
}

// Because adds to an error of the boundary what the store says of it, which the boundary leaves out: it does not know
// that these texts never hold an address, a key or a body.
func Because(err error) error {
	var ours *boundary.Error
	var trouble *redisstore.Error
	var file *localstore.Error
	var eviction *redisstore.EvictionError
	switch {
	case !errors.As(err, &ours):
		return err
	case errors.As(err, &eviction):
		return fmt.Errorf("%w: %s", err, eviction.Error())
	case errors.As(err, &trouble):
		return fmt.Errorf("%w: %s", err, trouble.Error())
	case errors.As(err, &file):
		return fmt.Errorf("%w: %s", err, file.Error())
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

// WhereError means that two places are named at once.
type WhereError struct{}

// Error names both.
func (*WhereError) Error() string { return "a Redis and a directory are two places: name one" }
