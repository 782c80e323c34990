package rows

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// Caps of the facts of one result. With the last one that counts what was left
// out they stay within the 16 that a call may have in a run's report.
const (
	maxFacts = 15
	factRows = 3 // rows named by their key, of a result with several
)

// facts says what the statement returned: how many rows; for a single row each
// column; for several the columns of the first few, by key. What does not fit
// room or caps is counted in a last fact.
func (p sqlRows) facts(d *document, tool string, room int) ([]evidence.Fact, error) {
	statement := evidence.Subject{Kind: "statement", ID: d.statement}
	if d.statement == "" {
		statement.ID = "of tool " + tool
	}
	f := factList{subject: statement}
	if err := f.reserve(room); err != nil {
		return nil, err
	}
	f.add(statement, "row_count", d.accuracy()+" "+strconv.FormatInt(d.rowCount, 10))
	if d.counted == 1 && !d.truncated {
		f.addRow(statement, d, d.rows[0], -1)
	} else if key := p.keyColumn(d); uniqueKeys(d, key) {
		for _, row := range firstRows(d) {
			f.addRow(rowSubject(d, row, key), d, row, key)
		}
	}
	return f.close(), nil
}

func firstRows(d *document) [][]jsontext.Value { return d.rows[:min(len(d.rows), factRows)] }

// keyColumn is the index of the column that names a row.
func (p sqlRows) keyColumn(d *document) int {
	for i, c := range d.columns {
		if p.options.Key != "" && c.Name == p.options.Key {
			return i
		}
	}
	return 0
}

// uniqueKeys reports whether the key tells the kept rows apart. NULL and bytes
// name nothing, and a lone key column leaves nothing to say.
func uniqueKeys(d *document, key int) bool {
	seen := map[string]bool{}
	for _, row := range d.rows {
		text := string(row[key])
		if kind := row[key].Kind(); kind == 'n' || kind == '{' || seen[text] {
			return false
		}
		seen[text] = true
	}
	return len(d.columns) > 1
}

func rowSubject(d *document, row []jsontext.Value, key int) evidence.Subject {
	return evidence.Subject{Kind: columnLabel(d, key), ID: plain(row[key])}
}

// columnLabel names a column so that no two of a result share a name.
func columnLabel(d *document, i int) string {
	position := "column " + strconv.Itoa(i+1)
	name := evidence.Line(d.columns[i].Name, evidence.MaxFactName-len(" (column 9999)"))
	if name == "" {
		return position
	}
	for j, other := range d.columns {
		if j != i && other.Name == d.columns[i].Name {
			return name + " (" + position + ")"
		}
	}
	return name
}

// factList takes facts while they fit.
type factList struct {
	subject evidence.Subject
	list    []evidence.Fact
	room    int // bytes left, the last fact's taken out
	omitted int
}

const omittedPredicate = "facts_omitted"

// reserve keeps room for the row count and the fact that counts the others.
func (f *factList) reserve(room int) error {
	const widest = "at least 9223372036854775807"
	need := len("[]") + size(evidence.NewFact(f.subject, omittedPredicate, widest))
	if least := need + size(evidence.NewFact(f.subject, "row_count", widest)); least > room {
		return &projector.Error{Kind: projector.TooLarge, Field: projector.FieldFacts, Size: int64(least), Limit: int64(max(room, 1))}
	}
	f.room = room - need
	return nil
}

func (f *factList) add(subject evidence.Subject, predicate, value string) {
	fact := evidence.NewFact(subject, predicate, value)
	if cost := size(fact); len(f.list) < maxFacts && cost <= f.room && f.omitted == 0 {
		f.list = append(f.list, fact)
		f.room -= cost
		return
	}
	f.omitted++
}

// addRow states every cell of a row but its key.
func (f *factList) addRow(subject evidence.Subject, d *document, row []jsontext.Value, key int) {
	for i, cell := range row {
		if i != key {
			f.add(subject, columnLabel(d, i), factValue(cell))
		}
	}
}

func (f *factList) close() []evidence.Fact {
	if f.omitted > 0 {
		f.list = append(f.list, evidence.NewFact(f.subject, omittedPredicate, strconv.Itoa(f.omitted)))
	}
	return f.list
}

// size is what a fact adds to the stored form.
func size(fact evidence.Fact) int {
	encoded, err := evidence.EncodeFacts([]evidence.Fact{fact})
	if err != nil {
		return 1 << 30 // cannot be stored, so it never fits
	}
	return len(encoded) - len("[]") + len(",")
}

// factValue is a cell as one line: null, a number or a boolean as written, text
// in quotes, so that a text "null" differs from NULL and an instruction found in
// a table stays a quotation. The quotes survive a clip.
func factValue(cell jsontext.Value) string {
	switch cell.Kind() {
	case '{':
		size, err := binaryCell(cell)
		if err != nil {
			return "bytes"
		}
		return strconv.Itoa(size) + " bytes"
	case '"':
		text := plain(cell)
		for limit := evidence.MaxFactValue - len(`""`); ; {
			quoted, _ := jsontext.AppendQuote(nil, evidence.Line(text, limit)) // Line gives valid UTF-8
			over := len(quoted) - evidence.MaxFactValue
			if over <= 0 {
				return string(quoted)
			}
			limit -= over
		}
	default:
		return string(cell)
	}
}
