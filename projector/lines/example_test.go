package lines_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/lines"
)

// What an executor writes, and what becomes of it.
func Example() {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	log := []lines.Record{
		{Time: noon.Add(9 * time.Minute), Level: "ERROR", Service: "checkout", Message: "payment 4712 declined"},
		{Time: noon.Add(2 * time.Minute), Level: "ERROR", Service: "checkout", Message: "payment 4711 declined"},
	}
	search := lines.Encoder{Sources: []string{"app"}, From: noon, To: noon.Add(time.Hour), Query: "declined", Limit: 100, Order: lines.NewestFirst}

	for _, found := range [][]lines.Record{log, nil} {
		var raw bytes.Buffer
		if err := search.Encode(&raw, found, lines.End{Reached: true}); err != nil {
			fmt.Println(err)
			return
		}
		in := projector.Input{Request: []byte(`{"text":"declined"}`), Raw: raw.Bytes()}
		p, err := projector.Drive(context.Background(), lines.New(lines.Options{Samples: 1}), in, projector.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Status, p.Coverage.Sentence(200))
		for _, fact := range p.Facts {
			fmt.Println(" ", fact.Subject.Kind, fact.Subject.ID, fact.Value)
		}
	}
	// Output:
	// EVIDENCE_FOUND searched log app for {"text":"declined"} between 2026-01-02T12:00:00Z and 2026-01-02T13:00:00Z where query declined, limit 100
	//   log app exact 2, first 2026-01-02T12:02:00Z, last 2026-01-02T12:09:00Z
	//   level ERROR exact 2, first 2026-01-02T12:02:00Z, last 2026-01-02T12:09:00Z
	//   service checkout exact 2, first 2026-01-02T12:02:00Z, last 2026-01-02T12:09:00Z
	//   pattern payment <n> declined exact 2, first 2026-01-02T12:02:00Z, last 2026-01-02T12:09:00Z
	// NO_EVIDENCE searched log app for {"text":"declined"} between 2026-01-02T12:00:00Z and 2026-01-02T13:00:00Z where query declined, limit 100
}
