package rows_test

import (
	"bytes"
	"database/sql"
	"testing"

	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/rows"
)

// fourMiB is a result of about the default limit of raw data.
func fourMiB() *table { return numbered(80_000) }

func BenchmarkEncode(b *testing.B) {
	db := sql.OpenDB(tables{"t": fourMiB()})
	defer db.Close()
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		rs, err := db.Query("t")
		if err != nil {
			b.Fatal(err)
		}
		if err := rows.Encode(&out, rs); err != nil {
			b.Fatal(err)
		}
		rs.Close()
	}
	b.SetBytes(int64(out.Len()))
}

func BenchmarkProject(b *testing.B) {
	db := sql.OpenDB(tables{"t": fourMiB()})
	defer db.Close()
	rs, err := db.Query("t")
	if err != nil {
		b.Fatal(err)
	}
	defer rs.Close()
	var out bytes.Buffer
	if err := rows.Encode(&out, rs); err != nil {
		b.Fatal(err)
	}
	in := input(out.String())
	b.SetBytes(int64(out.Len()))
	for b.Loop() {
		if _, err := projector.Drive(b.Context(), rows.New(rows.Options{}), in, projector.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
