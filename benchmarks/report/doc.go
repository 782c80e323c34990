// Package report is how results of benchmarks are written: as tables to read, which
// are also Markdown, and as one JSON document to keep.
//
// # Use
//
//	table := report.Table{Title: "Calls", Columns: []report.Column{{Name: "size"}, {Name: "calls/s", Digits: 0}}}
//	table.Add("1 KiB", 12345.6)
//	doc.Tables = append(doc.Tables, table)
//	err := doc.Text(os.Stdout) // or doc.JSON(os.Stdout)
package report
