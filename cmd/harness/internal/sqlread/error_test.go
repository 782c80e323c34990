package sqlread

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
)

func TestTranslate(t *testing.T) {
	t.Parallel()
	limits := Limits{}.withDefaults()
	own := errors.New("own")
	for _, test := range []struct {
		name    string
		err     error
		refused string
		want    string
	}{
		{"none", nil, "", "<nil>"},
		{"not_the_engines", own, "DELETE", "own"},
		{"denied", sqlite3.AUTH, "DELETE", "sqlread: DELETE is not permitted"},
		{"denied_function", fmt.Errorf("wrapped: %w", sqlite3.ERROR), "FUNCTION", "sqlread: FUNCTION is not permitted"},
		{"read_only", sqlite3.READONLY, "", "sqlread: WRITE is not permitted"},
		{"extended_code", sqlite3.READONLY_DBMOVED, "", "sqlread: WRITE is not permitted"},
		{"too_big", sqlite3.TOOBIG, "", "sqlread: limit MaxValueBytes (1048576) reached"},
		{"full", sqlite3.FULL, "", "sqlread: limit MaxTempBytes (33554432) reached"},
		{"interrupted", sqlite3.INTERRUPT, "", fmt.Sprint(sqlite3.INTERRUPT)},
		{"interrupted_while_denied", sqlite3.INTERRUPT, "DELETE", fmt.Sprint(sqlite3.INTERRUPT)},
		{"other", sqlite3.CORRUPT, "", "sqlread: statement failed with code 11"},
	} {
		if got := fmt.Sprint(limits.translate(test.err, test.refused)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestOnlyTheTimeLimitIsADeadline(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{limitTimeout, limitValue, limitTemp, limitStatement} {
		got := errors.Is(&LimitError{Limit: limit, Max: 1}, context.DeadlineExceeded)
		if want := limit == limitTimeout; got != want {
			t.Errorf("%s: got %v, want %v", limit, got, want)
		}
	}
}

// The file system has one file that cannot change, and no other.
func TestImageFileSystem(t *testing.T) {
	t.Parallel()
	fs := imageFS{image: data.Chinook(), temp: &tempBudget{max: 10}}
	file, flags, err := fs.Open(imageName, vfs.OPEN_MAIN_DB|vfs.OPEN_READWRITE)
	if err != nil || flags&vfs.OPEN_READONLY == 0 {
		t.Fatalf("got %v, flags %x, want the image read only", err, flags)
	}
	if size, err := file.Size(); err != nil || size != 1007616 {
		t.Errorf("size: got %d, %v", size, err)
	}
	head := make([]byte, 15)
	if _, err := file.ReadAt(head, 0); err != nil || string(head) != "SQLite format 3" {
		t.Errorf("head: got %q, %v", head, err)
	}
	_, write := file.WriteAt([]byte("x"), 0)
	for name, err := range map[string]error{
		"write": write, "truncate": file.Truncate(0), "sync": file.Sync(0), "delete": fs.Delete(imageName, false),
	} {
		if err == nil {
			t.Errorf("%s was not refused", name)
		}
	}
	for _, flags := range []vfs.OpenFlag{vfs.OPEN_MAIN_JOURNAL, vfs.OPEN_WAL, vfs.OPEN_SUPER_JOURNAL} {
		if _, _, err := fs.Open(imageName, flags); !errors.Is(err, sqlite3.CANTOPEN) {
			t.Errorf("flags %x: got %v, want no such file", flags, err)
		}
	}
	if _, _, err := fs.Open("/etc/hostname", vfs.OPEN_MAIN_DB); !errors.Is(err, sqlite3.CANTOPEN) {
		t.Errorf("another file: got %v, want no such file", err)
	}
	if exists, err := fs.Access("/etc/hostname", vfs.ACCESS_EXISTS); exists || err != nil {
		t.Errorf("access: got %v, %v, want no such file", exists, err)
	}
}
