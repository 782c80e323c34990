package sqlread

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
)

// forbidden is one statement that must not run. OUT in a statement stands for the path of a file that does not exist.
type forbidden struct {
	name, statement, action string
	// inert says that the statement does nothing on an unguarded connection either, or fails there for another reason,
	// so that only its refusal can be checked.
	inert bool
}

func forbiddenStatements() []forbidden {
	return []forbidden{
		{"insert", `INSERT INTO Artist (Name) VALUES ('x')`, "INSERT", false},
		{"insert_select", `INSERT INTO Artist (Name) SELECT Title FROM Album`, "INSERT", false},
		{"insert_returning", `INSERT INTO Artist (Name) VALUES ('x') RETURNING ArtistId`, "INSERT", false},
		{"insert_with_cte", `WITH x AS (SELECT 'x') INSERT INTO Artist (Name) SELECT * FROM x`, "INSERT", false},
		{"upsert", `INSERT INTO Genre VALUES (1, 'x') ON CONFLICT DO UPDATE SET Name = 'x'`, "INSERT", false},
		{"replace", `REPLACE INTO Genre VALUES (99, 'x')`, "INSERT", false},
		{"update", `UPDATE Track SET UnitPrice = 0`, "UPDATE", false},
		{"update_from", `UPDATE Album SET Title = a.Name FROM Artist a WHERE a.ArtistId = Album.ArtistId`, "UPDATE", false},
		{"update_with_cte", `WITH x AS (SELECT 1) UPDATE Track SET UnitPrice = 0`, "UPDATE", false},
		{"delete", `DELETE FROM InvoiceLine`, "DELETE", false},
		{"delete_where", `DELETE FROM InvoiceLine WHERE InvoiceLineId = 1`, "DELETE", false},
		{"delete_returning", `DELETE FROM InvoiceLine RETURNING *`, "DELETE", false},
		{"delete_with_cte", `WITH x AS (SELECT 1) DELETE FROM InvoiceLine`, "DELETE", false},
		{"delete_commented", "/* SELECT */ -- SELECT\nDELETE FROM InvoiceLine", "DELETE", false},
		{"explain_delete", `EXPLAIN DELETE FROM InvoiceLine`, "DELETE", true},
		{"create_table", `CREATE TABLE x (y)`, actionSchema, false},
		{"create_table_as", `CREATE TABLE x AS SELECT * FROM Artist`, actionSchema, false},
		{"create_temp_table", `CREATE TEMP TABLE x (y)`, actionSchema, true},
		{"create_view", `CREATE VIEW x AS SELECT 1`, actionSchema, false},
		{"create_temp_view", `CREATE TEMP VIEW x AS SELECT 1`, actionSchema, true},
		{"create_index", `CREATE INDEX x ON Artist (Name)`, actionSchema, false},
		{"create_trigger", `CREATE TRIGGER x AFTER INSERT ON Artist BEGIN DELETE FROM InvoiceLine; END`, actionSchema, false},
		{"create_virtual_table", `CREATE VIRTUAL TABLE x USING generate_series(1)`, actionSchema, true},
		{"drop_table", `DROP TABLE PlaylistTrack`, actionSchema, false},
		{"drop_index", `DROP INDEX IFK_PlaylistTrackTrackId`, actionSchema, false},
		{"alter_rename", `ALTER TABLE Artist RENAME TO x`, actionSchema, false},
		{"alter_add", `ALTER TABLE Artist ADD COLUMN x`, actionSchema, false},
		{"alter_drop", `ALTER TABLE Customer DROP COLUMN Fax`, actionSchema, false},
		{"reindex", `REINDEX`, actionSchema, true},
		{"analyze", `ANALYZE`, actionSchema, false},
		{"write_schema", `UPDATE sqlite_schema SET sql = sql || ' '`, actionSchema, false},
		{"vacuum", `VACUUM`, "ATTACH", true},
		{"vacuum_into", `VACUUM INTO 'OUT'`, "ATTACH", true},
		{"attach", `ATTACH 'OUT' AS x`, "ATTACH", true},
		{"attach_memory", `ATTACH ':memory:' AS x`, "ATTACH", true},
		{"detach", `DETACH main`, "ATTACH", true},
		{"begin", `BEGIN IMMEDIATE`, "TRANSACTION", true},
		{"commit", `COMMIT`, "TRANSACTION", true},
		{"rollback", `ROLLBACK`, "TRANSACTION", true},
		{"savepoint", `SAVEPOINT x`, "TRANSACTION", true},
		{"release", `RELEASE x`, "TRANSACTION", true},
		{"pragma_user_version", `PRAGMA user_version = 7`, "PRAGMA", false},
		{"pragma_application_id", `PRAGMA application_id(7)`, "PRAGMA", false},
		{"pragma_writable_schema", `PRAGMA writable_schema = 1`, "PRAGMA", true},
		{"pragma_query_only", `PRAGMA query_only = 0`, "PRAGMA", true},
		{"pragma_query_only_read", `PRAGMA query_only`, "PRAGMA", true},
		{"pragma_journal_mode", `PRAGMA journal_mode = WAL`, "PRAGMA", false},
		{"pragma_temp_store", `PRAGMA temp_store = 1`, "PRAGMA", true},
		{"pragma_optimize", `PRAGMA optimize`, "PRAGMA", true},
		{"pragma_database_list", `PRAGMA database_list`, "PRAGMA", true},
		{"pragma_in_from", `SELECT file FROM pragma_database_list`, "READ", true},
		{"pragma_counted", `SELECT COUNT(*) FROM pragma_database_list`, "PRAGMA", true},
		{"temp_schema", `SELECT * FROM sqlite_temp_schema`, "READ", true},
		{"write_in_log", `SELECT sqlite_log(1, 'x')`, "FUNCTION", true},
		{"connection_state", `SELECT last_insert_rowid()`, "FUNCTION", true},
	}
}

// writableCopy makes a file of the database in a folder of its own and opens it so that everything is possible.
func writableCopy(t *testing.T) (path string, conn *sqlite3.Conn) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "copy.sqlite")
	if err := os.WriteFile(path, []byte(data.Chinook()), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return path, conn
}

func fileDigest(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func publishedDigest(t *testing.T) string {
	t.Helper()
	var expected struct {
		Digest string `json:"sqlite_sha256"`
	}
	if err := json.Unmarshal([]byte(data.ChinookExpected()), &expected); err != nil || len(expected.Digest) != 64 {
		t.Fatalf("no digest in expected.json: %v", err)
	}
	return expected.Digest
}

func readableTables(t *testing.T, conn *sqlite3.Conn) map[string]bool {
	t.Helper()
	stmt, _, err := conn.Prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	names := map[string]bool{}
	for stmt.Step() {
		names[stmt.ColumnText(0)] = true
	}
	return names
}

// The authorizer stands alone here: the file can be written, no transaction is open, query_only is off, the engine is
// neither defensive nor limited. The same statement without it must take effect, or the refusal would prove nothing.
func TestAuthorizerAlone(t *testing.T) {
	t.Parallel()
	for _, test := range forbiddenStatements() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path, conn := writableCopy(t)
			out := filepath.Join(filepath.Dir(path), "out.sqlite")
			statement := strings.ReplaceAll(test.statement, "OUT", out)

			auth := &authorizer{readable: readableTables(t, conn)}
			if test.name == "write_schema" { // else the engine refuses it before it asks anybody
				if err := conn.Exec(`PRAGMA writable_schema = 1`); err != nil {
					t.Fatal(err)
				}
			}
			if err := conn.SetAuthorizer(auth.decide); err != nil {
				t.Fatal(err)
			}
			err := conn.Exec(statement)
			// The engine has a general error and a text of its own for a denied function.
			if !errors.Is(err, sqlite3.AUTH) && (test.action != "FUNCTION" || !strings.Contains(err.Error(), "not authorized")) {
				t.Errorf("guarded: got %v, want the engine's authorization error", err)
			}
			if auth.refused != test.action {
				t.Errorf("refused action: got %q, want %q", auth.refused, test.action)
			}
			if got, want := fileDigest(t, path), publishedDigest(t); got != want {
				t.Errorf("file after the refusal: got %s, want %s", got, want)
			}
			if left, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(left) != 1 {
				t.Errorf("files after the refusal: got %v, want the database alone", left)
			}
			if test.inert {
				return
			}
			if err := conn.SetAuthorizer(nil); err != nil {
				t.Fatal(err)
			}
			if err := conn.Exec(statement); err != nil {
				t.Fatalf("unguarded: got %v, want the statement to run", err)
			}
			if fileDigest(t, path) == publishedDigest(t) {
				t.Error("unguarded: the file did not change, so the refusal above proves nothing")
			}
		})
	}
}

// All layers together, on a file that could be written and on the image.
func TestRefusedThroughEveryLayer(t *testing.T) {
	t.Parallel()
	path, conn := writableCopy(t)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := open("file:"+path+"?mode=rw", Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	image, err := OpenImage(data.Chinook(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]*Database{"file": file, "image": image} {
		for _, test := range forbiddenStatements() {
			_, err := db.Table(context.Background(), strings.ReplaceAll(test.statement, "OUT", path+".out"))
			want := test.action
			switch test.name {
			case "vacuum", "vacuum_into":
				want = actionWrite // not read only, which is seen before the engine would attach a file to copy into
			case "write_schema":
				want = "" // nobody can write to it here, so that the engine itself calls the statement wrong
			}
			var refused *RefusedError
			if err == nil || errors.As(err, &refused) != (want != "") || (want != "" && refused.Action != want) {
				t.Errorf("%s/%s: got %v, want a refusal of %q", name, test.name, err, want)
			}
		}
		// The connection is whole after so many refusals.
		table, err := db.Table(context.Background(), `SELECT COUNT(*) FROM InvoiceLine`)
		if err != nil || table.Rows[0][0] != int64(2240) {
			t.Errorf("%s: got %v, %v, want 2240 rows", name, table.Rows, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if got, want := fileDigest(t, path), publishedDigest(t); got != want {
		t.Errorf("file: got %s, want %s", got, want)
	}
}

func TestIdleConnectionReadsNothing(t *testing.T) {
	t.Parallel()
	db := openChinook(t, Limits{})
	for _, statement := range []string{`SELECT 1`, `SELECT * FROM Artist`, `DELETE FROM Artist`, `PRAGMA query_only = 0`, `COMMIT`} {
		rows, err := db.pool.QueryContext(t.Context(), statement)
		if err == nil {
			rows.Next()
			err = errors.Join(rows.Err(), rows.Close())
		}
		if !errors.Is(err, sqlite3.AUTH) {
			t.Errorf("%q past the methods of Database: got %v, want the engine's authorization error", statement, err)
		}
	}
}

// Every function of the engine is either permitted or denied by name here, so that a new engine cannot add one unseen.
func TestEveryFunctionIsDecided(t *testing.T) {
	t.Parallel()
	_, conn := writableCopy(t)
	stmt, _, err := conn.Prepare(`SELECT DISTINCT name FROM pragma_function_list ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	var denied []string
	count := 0
	for stmt.Step() {
		count++
		if name := stmt.ColumnText(0); !permitsFunction(name) {
			denied = append(denied, name)
		}
	}
	want := []string{"changes", "last_insert_rowid", "sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_log",
		"sqlite_source_id", "total_changes"}
	if count < 100 || !slices.Equal(denied, want) {
		t.Errorf("of %d functions denied: got %v, want %v", count, denied, want)
	}
	if permitsFunction("load_extension") || permitsFunction("readfile") || permitsFunction("writefile") || permitsFunction("edit") {
		t.Error("a function that reaches files or code is permitted")
	}
}

func TestEveryPragmaIsDecided(t *testing.T) {
	t.Parallel()
	_, conn := writableCopy(t)
	stmt, _, err := conn.Prepare(`SELECT name FROM pragma_pragma_list ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	var permitted []string
	for stmt.Step() {
		if name := stmt.ColumnText(0); permitsPragma(name) {
			permitted = append(permitted, name)
		}
	}
	want := []string{"foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo"}
	if !slices.Equal(permitted, want) {
		t.Errorf("permitted: got %v, want %v", permitted, want)
	}
}
