//go:build !linux

package localstore_test

import (
	"encoding/json"
	"errors"
)

// smallDiskRole is on Linux alone, and so is the test that asks for it.
func smallDiskRole(*json.Decoder, *json.Encoder) error {
	return errors.New("the size of a process's files is not limited here")
}
