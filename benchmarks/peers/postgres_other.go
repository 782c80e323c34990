//go:build !linux

package main

import (
	"context"
	"errors"
)

// startPostgres is not here: folders and users are Debian's.
func (b *bench) startPostgres(context.Context, ...string) (string, error) {
	return "", errors.New("POSTGRES IS STARTED ON LINUX ONLY")
}
