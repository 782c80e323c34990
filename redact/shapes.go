package redact

import "strconv"

// A credential's name does not always stand before its value. Two shapes are
// common enough in results of tools to be known:
//
//	{"name":"Authorization","value":"…"}                  headers of a recording, variables of a container
//	{"columns":["id","password"],"rows":[[1,"…"]]}        tables, rows/1 of this module among them

// memberName notes a name, and redacts what was found in the name itself. Two
// names that become one get numbers, so that no member is lost to a parser.
func (w *walk) memberName(at extent) error {
	f := w.top()
	content := at.inside(w.text)
	f.name = string(decoded(content))
	f.secret = w.keys.Match(f.name)
	if w.plain(content) {
		return nil
	}
	found, err := w.document([]byte(f.name), "", w.level+1)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	w.edits = append(w.edits, carried(content, at.start+1, found)...)
	w.number(string(apply([]byte(f.name), found)), at.end-1)
	return nil
}

// number appends #2, #3, ... to a changed name that another member has already.
func (w *walk) number(name string, at int) {
	if w.names == nil {
		w.names = w.allNames()
	}
	unique := name
	for w.names[unique] > 0 {
		w.names[name]++
		unique = name + "#" + strconv.Itoa(w.names[name])
	}
	w.names[unique]++
	if suffix := unique[len(name):]; suffix != "" {
		w.edits = append(w.edits, edit{at, at, suffix})
	}
}

// allNames reads the document once more, for the rare one in which a name was
// changed.
func (w *walk) allNames() map[string]int {
	names := map[string]int{}
	for dec := decoder(w.text); ; {
		kind, length := dec.StackIndex(dec.StackDepth())
		token, err := dec.ReadToken()
		if err != nil {
			return names
		}
		if kind == '{' && length%2 == 0 && token.Kind() == '"' {
			names[token.String()] = 1
		}
	}
}

// ended notes the members of an object that make it a pair or a table.
func (w *walk) ended(at extent) {
	f := w.top()
	if !f.object {
		return
	}
	switch fold(f.name) {
	case "name", "key", "header":
		f.named = f.named || w.text[at.start] == '"' && w.keys.Match(string(decoded(at.inside(w.text))))
	case "value", "values":
		f.paired = at
	case "columns", "fields", "headers":
		f.columns = at
	case "rows", "data":
		f.rows = at
	}
}

// table replaces the cells of columns that are named like a credential. Columns
// are strings, or objects with a name; rows are arrays. Anything else is no table.
func (w *walk) table(columns, rows extent) {
	secret := w.secretColumns(columns)
	if len(secret) == 0 || w.text[rows.start] != '[' {
		return
	}
	cells := walk{pass: w.pass, text: w.text[:rows.end], dec: decoder(rows.of(w.text)), base: rows.start}
	cells.token()
	for cells.dec.PeekKind() != ']' {
		if cells.dec.PeekKind() != '[' {
			cells.value()
			continue
		}
		cells.token()
		for column := 0; cells.dec.PeekKind() != ']'; column++ {
			if at := cells.value(); secret[column] && !harmless(at.of(w.text)) {
				w.replace(at)
			}
		}
		cells.token()
	}
}

// secretColumns are the places of the credentials among the columns.
func (w *walk) secretColumns(columns extent) map[int]bool {
	if w.text[columns.start] != '[' {
		return nil
	}
	secret := map[int]bool{}
	list := walk{pass: w.pass, text: w.text[:columns.end], dec: decoder(columns.of(w.text)), base: columns.start}
	list.token()
	for column := 0; list.dec.PeekKind() != ']'; column++ {
		if w.keys.Match(columnName(list.value().of(w.text))) {
			secret[column] = true
		}
	}
	return secret
}

// columnName is the string itself, or the member "name" of an object.
func columnName(column []byte) string {
	dec := decoder(column)
	switch dec.PeekKind() {
	case '"':
		return string(decoded(column[1 : len(column)-1]))
	case '{':
	default:
		return ""
	}
	list := walk{text: column, dec: dec}
	for list.token(); dec.PeekKind() == '"'; {
		name, value := list.value().of(column), list.value().of(column)
		if fold(string(decoded(name[1:len(name)-1]))) == "name" && value[0] == '"' {
			return string(decoded(value[1 : len(value)-1]))
		}
	}
	return ""
}

// token and value step over what is known to be there: the document was read
// once before.
func (w *walk) token() {
	_, _ = w.read(func() error { _, err := w.dec.ReadToken(); return err })
}

func (w *walk) value() extent {
	at, _ := w.read(w.dec.SkipValue)
	return at
}
