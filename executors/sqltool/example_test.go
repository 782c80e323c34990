package sqltool_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log"
	"strings"

	"github.com/toolharness/harness/executors/sqltool"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/rows"
)

// A statement runs and its result is projected. A program opens a real database
// and gives shop.Tool("query_shop") to a boundary.Toolset instead.
func Example() {
	db := sql.OpenDB(&server{columns: []string{"name", "tracks"}, rows: [][]driver.Value{{"Rock", int64(1297)}, {"Jazz", int64(130)}}})
	defer db.Close()
	shop, err := sqltool.New(sqltool.Config{DB: db, Name: "shop", Dialect: "placeholders ?", Checker: sqltool.Unchecked{}})
	if err != nil {
		log.Fatal(err)
	}
	query := sqltool.Query{Statement: "SELECT name, tracks FROM genres WHERE tracks > ?", Parameters: []any{100}}
	var raw strings.Builder
	if err := shop.Run(context.Background(), query, &raw); err != nil {
		log.Fatal(err)
	}
	p, err := projector.Drive(context.Background(), rows.New(rows.Options{}), projector.Input{Raw: []byte(raw.String())}, projector.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Status, p.Coverage.Checked)
	for _, fact := range p.Facts {
		fmt.Println(fact.Subject.ID, fact.Predicate, fact.Value)
	}
	// Output:
	// EVIDENCE_FOUND [database shop]
	// SELECT name, tracks FROM genres WHERE tracks > ? row_count exactly 2
	// Rock tracks 1297
	// Jazz tracks 130
}
