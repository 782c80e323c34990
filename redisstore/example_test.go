package redisstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolharness/harness/redisstore"
)

// An address that cannot be read is told without repeating it: it may hold a
// password.
func ExampleDial() {
	_, err := redisstore.Dial(context.Background(), "redis://app:secret@db-1,db-2", nil)
	var bad *redisstore.URLError
	fmt.Println(errors.As(err, &bad))
	fmt.Println(err)
	// Output:
	// true
	// redisstore: address: more than one host; use redis+cluster or redis+sentinel
}
