package rows

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// smallestCell ends the search for a first row that fits.
const smallestCell = 16

// view makes what the model reads. Where not even one row fits, cells are shown
// shorter before rows are given up.
func (p sqlRows) view(d *document, c evidence.Coverage, maxBytes int) ([]byte, error) {
	for cell := p.options.CellBytes; ; cell /= 2 {
		list, err := p.list(d, c, maxBytes, cell)
		if err != nil {
			return nil, err
		}
		if list.Returned() > 0 || d.counted == 0 || cell/2 < smallestCell {
			return list.JSON(), nil
		}
	}
}

func (p sqlRows) list(d *document, c evidence.Coverage, maxBytes, cellBytes int) (*projector.List, error) {
	list := projector.NewNamedList("rows", maxBytes)
	list.Set("columns", d.names())
	list.Set("row_count", d.rowCount)
	list.Set("row_count_is", d.accuracy())
	list.Set("truncated", d.truncated)
	if d.truncatedBy != "" {
		list.Set("truncated_by", evidence.Line(d.truncatedBy, DefaultCellBytes))
	}
	if d.counted == 0 {
		list.Set("nothing_found", c.Sentence(evidence.MaxFactValue))
	}
	shown := d.rows[:min(len(d.rows), p.options.MaxRows)]
	for _, row := range shown {
		cells := make([]any, len(row))
		for i, cell := range row {
			var err error
			if cells[i], err = show(cell, cellBytes); err != nil {
				return nil, err
			}
		}
		list.Add(cells)
	}
	list.Omit(d.rowCount - int64(len(shown)))
	return list, list.Err()
}

// show is a cell as the model sees it. Numbers keep every digit or are shown as
// a clipped string, never as another number.
func show(cell jsontext.Value, limit int) (any, error) {
	switch cell.Kind() {
	case '{':
		size, err := binaryCell(cell)
		return map[string]int{"binary_bytes": size}, err
	case '"', '0':
		if text := plain(cell); len(text) > limit {
			return clip(text, limit), nil
		}
	}
	return cell, nil
}

// clip cuts text at a rune boundary and says how long the whole is.
func clip(text string, limit int) string {
	mark := fmt.Sprintf("[%d bytes]", len(text))
	if room := limit - len(mark); room > len(evidence.ClipMark) {
		return evidence.Clip(text, room) + mark
	}
	return evidence.Clip(text, limit)
}
