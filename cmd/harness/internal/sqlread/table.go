package sqlread

import (
	"context"
	"database/sql"
)

// Cut says what kept rows out of a [Table].
type Cut string

// The values of Cut. The zero value is the whole result.
const (
	Whole    Cut = ""
	CutRows  Cut = "rows"  // MaxRows were taken and there was at least one more
	CutBytes Cut = "bytes" // the next row would have gone over MaxBytes
)

// Table is a result in memory, bounded by [Limits].
type Table struct {
	// Columns are the names as the engine gives them; they may repeat.
	Columns []string
	// Rows hold int64, float64, string, []byte, bool or nil.
	Rows [][]any
	// Bytes is the size of the values: the length of a text or blob, 8 for a number, 1 for a bool or NULL.
	Bytes int64
	// Cut tells whether rows are missing and why. How many is not known, since they were not read.
	Cut Cut
}

// Table runs one statement and reads its rows up to the limits.
func (d *Database) Table(ctx context.Context, statement string, args ...any) (Table, error) {
	var table Table
	err := d.Read(ctx, statement, func(rs *sql.Rows) (err error) {
		table, err = d.limits.collect(rs)
		return err
	}, args...)
	if err != nil {
		return Table{}, err
	}
	return table, nil
}

// collect reads one row more than it keeps: only that row proves that something was left out.
func (l Limits) collect(rs *sql.Rows) (Table, error) {
	columns, err := rs.Columns()
	if err != nil {
		return Table{}, err
	}
	table := Table{Columns: columns}
	for rs.Next() {
		if len(table.Rows) == l.MaxRows {
			table.Cut = CutRows
			return table, nil
		}
		row, size, err := scanRow(rs, len(columns))
		if err != nil {
			return Table{}, err
		}
		if table.Bytes+size > l.MaxBytes {
			if len(table.Rows) == 0 {
				return Table{}, ErrFirstRowTooLarge
			}
			table.Cut = CutBytes
			return table, nil
		}
		table.Rows = append(table.Rows, row)
		table.Bytes += size
	}
	return table, rs.Err()
}

func scanRow(rs *sql.Rows, columns int) ([]any, int64, error) {
	row := make([]any, columns)
	targets := make([]any, columns)
	for i := range row {
		targets[i] = &row[i]
	}
	if err := rs.Scan(targets...); err != nil {
		return nil, 0, err
	}
	var size int64
	for _, value := range row {
		size += sizeOf(value)
	}
	return row, size, nil
}

func sizeOf(value any) int64 {
	switch v := value.(type) {
	case string:
		return int64(len(v))
	case []byte:
		return int64(len(v))
	case int64, float64:
		return 8
	default:
		return 1
	}
}
