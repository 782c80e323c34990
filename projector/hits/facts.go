package hits

import (
	"fmt"
	"strconv"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// Bytes of a quotation inside a fact's value, so that all parts of it fit.
const (
	quotedID    = 56
	quotedQuery = 80
)

// facts says how many hits the search returned, and for each that a chunk of a
// document was retrieved for the query with a score. What the documents say is
// not stated: nobody has checked it.
func (d *document) facts(room int) ([]evidence.Fact, error) {
	search := evidence.Subject{Kind: "search", ID: d.collections[0]}
	if more := len(d.collections) - 1; more > 0 {
		search.ID = evidence.Line(search.ID, evidence.MaxFactName/2) + fmt.Sprintf(" and %d more", more)
	}
	f, err := bounds.NewFacts(search, room)
	if err != nil {
		return nil, err
	}
	query := "for query " + bounds.Quote(d.query, quotedQuery)
	f.Add(search, "hit_count", d.accuracy()+" "+strconv.Itoa(len(d.kept))+" "+query)
	for _, h := range d.kept {
		f.Add(evidence.Subject{Kind: "document", ID: h.Document}, "retrieved", h.chunk()+query+h.scored())
	}
	return f.List(), nil
}

// chunk names the part of the document, with a space behind it.
func (h wireHit) chunk() string {
	text := ""
	if h.ID != "" {
		text = "chunk " + bounds.Quote(h.ID, quotedID) + " "
	}
	if h.Position > 0 {
		text += "position " + strconv.FormatInt(h.Position, 10) + " "
	}
	return text
}

func (h wireHit) scored() string {
	if len(h.Score) == 0 {
		return ""
	}
	return " with " + string(h.Kind) + " " + bounds.Clip(string(h.Score), scoreBytes)
}
