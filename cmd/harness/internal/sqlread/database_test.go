package sqlread

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
)

const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n`

func openChinook(t *testing.T, limits Limits) *Database {
	t.Helper()
	db, err := OpenImage(data.Chinook(), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestPermittedStatements(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{})
	for statement, want := range map[string]any{
		`SELECT COUNT(*) FROM Track`:                                     int64(3503),
		` -- first` + "\n" + ` SELECT 1 ; -- behind it` + "\n/* and */ ": int64(1),
		`VALUES (7)`: int64(7),
		`WITH a AS (SELECT Name FROM Artist) SELECT COUNT(*) FROM a`:                                         int64(275),
		`SELECT COUNT(*) FROM (SELECT 1 UNION SELECT 1 UNION ALL SELECT 2)`:                                  int64(2),
		`WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT sum(i) FROM n`: int64(45),
		`SELECT name FROM pragma_table_info('Album') WHERE pk = 1`:                                           "AlbumId",
		`SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table'`:                                            int64(11),
		`SELECT value FROM json_each('[5]')`:                                                                 int64(5),
		`SELECT a.Name FROM Artist a JOIN Album b USING (ArtistId) WHERE b.Title LIKE 'Facelift'`:            "Alice In Chains",
		`SELECT row_number() OVER (ORDER BY Name) FROM Genre LIMIT 1`:                                        int64(1),
		`SELECT SUM(Total) FROM Invoice WHERE 1 = 0`:                                                         nil,
		`SELECT 9007199254740993`:                                                                            int64(9007199254740993),
	} {
		table, err := db.Table(t.Context(), statement)
		if err != nil || len(table.Rows) == 0 || table.Rows[0][0] != want {
			t.Errorf("%s: got %v, %v, want %v", statement, table.Rows, err, want)
		}
	}
	if _, err := db.Table(t.Context(), `PRAGMA table_info(Album)`); err != nil {
		t.Errorf("a describing pragma: got %v", err)
	}
	if _, err := db.Table(t.Context(), `EXPLAIN QUERY PLAN SELECT * FROM Album`); err != nil {
		t.Errorf("explaining a read: got %v", err)
	}
}

func TestTextStaysAsStored(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{})
	table, err := db.Table(t.Context(), `SELECT InvoiceDate, '2021-01-01T00:00:00Z', x'00ff', 1.5, NULL FROM Invoice WHERE InvoiceId = 1`)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%#v", table.Rows[0])
	want := fmt.Sprintf("%#v", []any{"2021-01-01 00:00:00", "2021-01-01T00:00:00Z", []byte{0, 255}, 1.5, nil})
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNotOneStatement(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{MaxStatementBytes: 4096})
	for _, test := range []struct {
		name, statement string
		want            error
	}{
		{"empty", "", ErrNoStatement},
		{"blank", " \n\t", ErrNoStatement},
		{"comment", "-- SELECT 1", ErrNoStatement},
		{"semicolon", ";", ErrNoStatement},
		{"two_reads", "SELECT 1; SELECT 2", ErrSeveralStatements},
		{"read_then_write", "SELECT 1; DELETE FROM Artist", ErrSeveralStatements},
		{"read_then_nonsense", "SELECT 1; x", ErrSeveralStatements},
		{"comment_between", "SELECT 1; /* */ SELECT 2", ErrSeveralStatements},
	} {
		if _, err := db.Table(t.Context(), test.statement); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if err := db.Check(t.Context(), test.statement); !errors.Is(err, test.want) {
			t.Errorf("%s, checked only: got %v, want %v", test.name, err, test.want)
		}
	}
}

func TestStatementErrorsHoldNoStatement(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{})
	for name, statement := range map[string]string{
		"syntax":         `SELEKT marker_7`,
		"table":          `SELECT * FROM marker_7`,
		"column":         `SELECT marker_7 FROM Artist`,
		"function":       `SELECT marker_7(1)`,
		"load_extension": `SELECT load_extension('marker_7')`,
		"nul":            "SELECT 1 \x00; DELETE FROM marker_7",
		"runtime":        `SELECT json('marker_7')`,
		"nested":         `SELECT marker_7` + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
	} {
		_, err := db.Table(t.Context(), statement)
		var failed *StatementError
		if !errors.As(err, &failed) || failed.Code != sqlite3.ERROR {
			t.Errorf("%s: got %v, want a statement error with code 1", name, err)
		}
		if shown := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(shown, "marker_7") {
			t.Errorf("%s: the error quotes the statement: %s", name, shown)
		}
	}
	_, err := db.Table(t.Context(), `DELETE FROM Artist WHERE Name = 'marker_7'`)
	if shown := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(shown, "marker_7") || strings.Contains(shown, "Artist") {
		t.Errorf("refusal quotes the statement: %s", shown)
	}
}

func TestTimeoutEndsAnEndlessStatement(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond // enough for the engine to start on a busy machine
	db := openChinook(t, Limits{Timeout: limit})
	start := time.Now()
	_, err := db.Table(t.Context(), endless)
	var reached *LimitError
	if !errors.As(err, &reached) || reached.Limit != "Timeout" || reached.Max != int64(limit) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the time limit of %v", err, limit)
	}
	if took := time.Since(start); took < limit || took > 5*time.Second {
		t.Errorf("took %v, want about %v", took, limit)
	}
	// The same connection goes on: it was given back whole.
	if table, err := db.Table(t.Context(), `SELECT 1`); err != nil || table.Rows[0][0] != int64(1) {
		t.Errorf("after the timeout: got %v, %v", table.Rows, err)
	}
}

// A limit that no statement can keep to does not keep the database from being opened.
func TestTimeoutIsForStatementsAlone(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{Timeout: 1})
	if got := db.Limits().Timeout; got != 1 {
		t.Errorf("got a limit of %v, want 1ns", got)
	}
	var reached *LimitError
	if _, err := db.Table(t.Context(), `SELECT 1`); !errors.As(err, &reached) || reached.Limit != "Timeout" {
		t.Errorf("got %v, want the time limit", err)
	}
}

func TestTimeoutCoversTheWaitForAConnection(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{Timeout: 100 * time.Millisecond})
	var wait sync.WaitGroup
	for range 3 * maxConnections {
		wait.Go(func() {
			if _, err := db.Table(context.Background(), endless); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the time limit", err)
			}
		})
	}
	wait.Wait()
}

func TestCallerEndsAStatement(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Read(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`, func(rs *sql.Rows) error {
		for rs.Next() {
			cancel()
		}
		return rs.Err()
	})
	var reached *LimitError
	if !errors.Is(err, context.Canceled) || errors.As(err, &reached) {
		t.Errorf("got %v, want the caller's cancellation", err)
	}
	if err := db.Check(ctx, `SELECT 1`); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: got %v, want its error", err)
	}
	if err := db.Check(t.Context(), `SELECT 1`); err != nil {
		t.Errorf("afterwards: got %v", err)
	}
}

func TestVisitorErrorComesBackUnchanged(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{})
	own := errors.New("full disk")
	if err := db.Read(t.Context(), `SELECT * FROM Track`, func(*sql.Rows) error { return own }); err != own {
		t.Errorf("got %v, want the visitor's own error", err)
	}
	// Rows that nobody read are closed, and the connections are free again.
	for range 2 * maxConnections {
		if err := db.Read(t.Context(), `SELECT * FROM Track`, func(*sql.Rows) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEngineMemoryIsBounded(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{MaxTempBytes: 1 << 20, MaxValueBytes: 1 << 16, Timeout: 30 * time.Second})
	for name, test := range map[string]struct{ statement, limit string }{
		"sort":      {`SELECT a.Name, b.Name FROM Track a, Track b ORDER BY hex(a.Name || b.Name)`, "MaxTempBytes"},
		"distinct":  {`SELECT COUNT(*) FROM (SELECT DISTINCT a.Name || b.Name || hex(b.Name) FROM Track a, Track b)`, "MaxTempBytes"},
		"value":     {`SELECT hex(zeroblob(40000))`, "MaxValueBytes"},
		"concat":    {`SELECT group_concat(a.Name) FROM Track a, Genre b`, "MaxValueBytes"},
		"zeroblob":  {`SELECT length(hex(zeroblob(2000000000)))`, "MaxValueBytes"},
		"statement": {`SELECT '` + strings.Repeat("x", 64<<10) + `'`, "MaxStatementBytes"},
	} {
		_, err := db.Table(t.Context(), test.statement)
		var reached *LimitError
		if !errors.As(err, &reached) || reached.Limit != test.limit {
			t.Errorf("%s: got %v, want the limit %s", name, err, test.limit)
		}
	}
	if table, err := db.Table(t.Context(), `SELECT DISTINCT Name FROM Track ORDER BY hex(Name) LIMIT 1`); err != nil || len(table.Rows) != 1 {
		t.Errorf("a sort within the limits afterwards: got %v, %v", table.Rows, err)
	}
}

func TestTempFileGivesItsBytesBack(t *testing.T) {
	t.Parallel()
	budget := &tempBudget{max: 100}
	a, b := &tempFile{budget: budget}, &tempFile{budget: budget}
	if n, err := a.WriteAt([]byte("end"), 57); n != 3 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if _, err := b.WriteAt(make([]byte, 50), 0); !errors.Is(err, sqlite3.FULL) {
		t.Errorf("over the budget of both: got %v, want full", err)
	}
	hole := make([]byte, 60)
	if n, err := a.ReadAt(hole, 0); n != 60 || err != nil || string(hole) != strings.Repeat("\x00", 57)+"end" {
		t.Errorf("got %d, %v, %q", n, err, hole)
	}
	if err := a.Truncate(10); err != nil || budget.used.Load() != 10 {
		t.Errorf("after truncation: got %v, %d bytes in use, want 10", err, budget.used.Load())
	}
	if n, err := a.WriteAt([]byte("x"), 19); n != 1 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	again := make([]byte, 30)
	if n, err := a.ReadAt(again, 0); n != 20 || err == nil || string(again[:20]) != strings.Repeat("\x00", 19)+"x" {
		t.Errorf("old bytes came back after truncation: got %d, %v, %q", n, err, again)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil || budget.used.Load() != 0 {
		t.Errorf("after close: got %v, %d bytes in use, want none", err, budget.used.Load())
	}
}

func TestOpenRefusesWhatIsNoDatabase(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		image string
		want  sqlite3.ErrorCode
	}{
		"text": {"not a database, but long enough for the header of one: " + strings.Repeat(".", 4096), sqlite3.NOTADB},
		"cut":  {data.Chinook()[:500_000], sqlite3.CORRUPT},
	} {
		db, err := OpenImage(test.image, Limits{})
		var failed *StatementError
		if !errors.As(err, &failed) || failed.Code != test.want || db != nil {
			t.Errorf("%s: got %v, want code %d", name, err, uint8(test.want))
		}
	}
}

func TestLimitsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	_, err := OpenImage(data.Chinook(), Limits{Timeout: -1, MaxRows: -1, MaxBytes: -1, MaxValueBytes: 2e9, MaxTempBytes: -1, MaxStatementBytes: 2 << 20})
	for _, field := range []string{"Timeout", "MaxRows", "MaxBytes", "MaxValueBytes", "MaxTempBytes", "MaxStatementBytes"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want %s named", err, field)
		}
	}
	want := Limits{5 * time.Second, 200, 262144, 1048576, 33554432, 65536}
	if got := openChinook(t, Limits{}).Limits(); got != want {
		t.Errorf("defaults: got %+v, want %+v", got, want)
	}
}

func TestCloseIsFinal(t *testing.T) {
	t.Parallel()
	db, err := OpenImage(data.Chinook(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Errorf("closing twice: got %v", err)
	}
	if _, err := db.Table(t.Context(), `SELECT 1`); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
	if err := db.Check(t.Context(), `SELECT 1`); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}

func TestManyReadersAtOnce(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{Timeout: 30 * time.Second})
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			for range 5 {
				table, err := db.Table(context.Background(), `SELECT COUNT(*), ? FROM Track`, i)
				if err != nil || table.Rows[0][0] != int64(3503) || table.Rows[0][1] != int64(i) {
					t.Errorf("got %v, %v", table.Rows, err)
				}
				if _, err := db.Table(context.Background(), `DELETE FROM Track`); err == nil {
					t.Error("a delete beside reads was not refused")
				}
			}
		})
	}
	wait.Wait()
}
