package spider

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
	"github.com/toolharness/harness/executors/sqltool"
)

// file is the Chinook database as a file that can be written.
type file struct {
	path string
	db   *sql.DB
}

// openFile copies the database into a folder of its own and checks at the end that
// the copy has every byte it had, and that nothing lies beside it.
func openFile(t *testing.T) file {
	t.Helper()
	f := file{path: filepath.Join(t.TempDir(), "chinook.sqlite")}
	if err := os.WriteFile(f.path, []byte(data.Chinook()), 0o600); err != nil {
		t.Fatal(err)
	}
	// _timefmt is a layout that no stored date has: the driver would otherwise turn dates into times. Many questions of
	// Spider write texts in double quotes.
	var err error
	uri := "file:" + filepath.ToSlash(f.path) + "?_timefmt=as-stored"
	if f.db, err = driver.Open(uri, func(c *sqlite3.Conn) error {
		_, err := c.Config(sqlite3.DBCONFIG_DQS_DML, true)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.db.Close(); err != nil {
			t.Error(err)
		}
		f.checkUntouched(t)
	})
	return f
}

func (f file) checkUntouched(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sha256.Sum256(content), sha256.Sum256([]byte(data.Chinook())); got != want {
		t.Errorf("the file changed: got %x, want %x", got, want)
	}
	if beside, _ := filepath.Glob(filepath.Join(filepath.Dir(f.path), "*")); len(beside) != 1 {
		t.Errorf("the folder holds %v, want the database alone", beside)
	}
}

// authorizer asks SQLite itself about every step of a statement. What is wrong in another way passes: the database
// tells that better.
func authorizer(t *testing.T) sqltool.Checker {
	t.Helper()
	image, err := sqlread.OpenImage(data.Chinook(), sqlread.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := image.Close(); err != nil {
			t.Error(err)
		}
	})
	return sqltool.CheckerFunc(func(statement string) error {
		err := image.Check(context.Background(), statement)
		if _, refused := errors.AsType[*sqlread.RefusedError](err); refused || errors.Is(err, sqlread.ErrSeveralStatements) {
			return err
		}
		return nil
	})
}

// classify reads the primary result codes of SQLite.
func classify(err error) sqltool.Fault {
	var code sqlite3.ErrorCode
	if !errors.As(err, &code) {
		return ""
	}
	switch code {
	case sqlite3.READONLY, sqlite3.AUTH, sqlite3.PERM:
		return sqltool.FaultRefused
	case sqlite3.INTERRUPT:
		return sqltool.FaultTimeout
	case sqlite3.BUSY, sqlite3.LOCKED, sqlite3.CANTOPEN, sqlite3.IOERR, sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.NOMEM, sqlite3.FULL:
		return sqltool.FaultUnavailable
	}
	return sqltool.FaultInvalid
}

func newTool(t *testing.T, f file, config sqltool.Config) *sqltool.Tool {
	t.Helper()
	config.DB, config.Name, config.Dialect, config.Classify = f.db, "chinook", "SQLite, placeholders ?", classify
	tool, err := sqltool.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}
