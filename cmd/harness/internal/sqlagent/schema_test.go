package sqlagent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
)

// toolsOn makes a database from a script and the tools on its image.
func toolsOn(t *testing.T, script string) *sqlagent.Tools {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.sqlite")
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Exec(script); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlread.OpenImage(string(image), sqlread.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return sqlagent.New("chinook", db)
}

func schemaOf(t *testing.T, tools *sqlagent.Tools, table string) string {
	t.Helper()
	arguments, err := json.Marshal(sqlagent.SchemaInput{TableNames: table})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := call(t, tools.Schema, string(arguments))
	if err != nil {
		t.Fatalf("%s: got %v", table, err)
	}
	return raw
}

func TestDefinitionOfKeysOverSeveralColumns(t *testing.T) {
	t.Parallel()
	tools := toolsOn(t, `
		CREATE TABLE a (x INT, y INT, PRIMARY KEY (y, x));
		CREATE TABLE b (p INT, q INT, r INT REFERENCES a (x), FOREIGN KEY (p, q) REFERENCES a (y, x));`)
	want := "CREATE TABLE \"a\" (\n\t\"x\" INT, \n\t\"y\" INT, \n\tPRIMARY KEY (\"y\", \"x\")\n)\n\n" +
		"/*\n0 rows from a table:\nx\ty\n*/"
	if got := schemaOf(t, tools, "a"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got := schemaOf(t, tools, "b")
	for _, key := range []string{`FOREIGN KEY("p", "q") REFERENCES "a" ("y", "x")`, `FOREIGN KEY("r") REFERENCES "a" ("x")`} {
		if strings.Count(got, key) != 1 {
			t.Errorf("got %q, want once %s", got, key)
		}
	}
	if strings.Contains(got, "PRIMARY KEY") {
		t.Errorf("got %q, want no primary key", got)
	}
}

func TestNamesThatNeedQuotes(t *testing.T) {
	t.Parallel()
	tools := toolsOn(t, `CREATE TABLE "Ta""ble; DROP" ("se""lect" TEXT NOT NULL, "größe" NUMERIC(8,3)); INSERT INTO "Ta""ble; DROP" VALUES ('x', 1.5)`)
	names, err := call(t, tools.ListTables, `{}`)
	if err != nil || names != `Ta"ble; DROP` {
		t.Fatalf("got %q, %v", names, err)
	}
	want := "CREATE TABLE \"Ta\"\"ble; DROP\" (\n\t\"se\"\"lect\" TEXT NOT NULL, \n\t\"größe\" NUMERIC(8, 3)\n)\n\n" +
		"/*\n1 rows from Ta\"ble; DROP table:\nse\"lect\tgröße\nx\t1.5\n*/"
	if got := schemaOf(t, tools, names); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSampleValues(t *testing.T) {
	t.Parallel()
	tools := toolsOn(t, `CREATE TABLE v (a, b, c, d);
		INSERT INTO v VALUES (NULL, x'00ff', 9223372036854775807, 0.1), (replace(hex(zeroblob(60)), '00', 'äö'), '', -1, 1e300)`)
	rows := strings.Split(schemaOf(t, tools, "v"), "\n")
	want := []string{"None\tx'00ff'\t9223372036854775807\t0.1", strings.Repeat("äö", 50) + "\t\t-1\t1e+300"}
	if len(rows) < 4 || rows[len(rows)-3] != want[0] || rows[len(rows)-2] != want[1] {
		t.Errorf("got %q, want %q", rows, want)
	}
}

// Tables of the engine and views are no tables of the user.
func TestListTablesLeavesTheEnginesOut(t *testing.T) {
	t.Parallel()
	tools := toolsOn(t, `CREATE TABLE b (id INTEGER PRIMARY KEY AUTOINCREMENT); CREATE TABLE a (x); CREATE VIEW v AS SELECT 1;
		CREATE TABLE sqliteish (x); INSERT INTO b DEFAULT VALUES; ANALYZE`)
	if names, err := call(t, tools.ListTables, `{}`); err != nil || names != "a, b, sqliteish" {
		t.Errorf("got %q, %v, want a, b, sqliteish", names, err)
	}
	if names, err := call(t, toolsOn(t, `PRAGMA user_version = 1`).ListTables, `{}`); err != nil || names != "" {
		t.Errorf("no tables: got %q, %v", names, err)
	}
}
