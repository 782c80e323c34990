package hits_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/hits"
)

// What an executor writes, and what becomes of it.
func Example() {
	search := hits.Encoder{
		Query: "annual fee", Collections: []string{"bank-kb"}, TopK: 3, Legs: []hits.Leg{{Name: "bm25", Hits: 1}},
	}
	found := hits.Hit{ID: "c7", Document: "fees", Title: "Fees", Position: 2, Score: hits.Score(11.5), Kind: hits.BM25, Content: "The annual fee is 20."}
	latest := hits.Hit{Document: "news", Fallback: "latest document", Content: "We have moved."}

	for _, results := range [][]hits.Hit{{found, latest}, {latest}} {
		var raw bytes.Buffer
		if err := search.Encode(&raw, results); err != nil {
			fmt.Println(err)
			return
		}
		in := projector.Input{Request: []byte(`{"q":"annual fee"}`), Raw: raw.Bytes()}
		p, err := projector.Drive(context.Background(), hits.New(hits.Options{}), in, projector.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %s\n", p.Status, p.Result)
		for _, fact := range p.Facts {
			fmt.Println(" ", fact.Subject.Kind, fact.Subject.ID, fact.Predicate, fact.Value)
		}
	}
	// Output:
	// EVIDENCE_FOUND {"query":"annual fee","collections":["bank-kb"],"top_k":3,"hit_count":1,"hit_count_is":"exact","not_retrieved":1,"hits":[{"id":"c7","document":"fees","title":"Fees","position":2,"score":11.5,"score_kind":"bm25","snippet":"The annual fee is 20."}],"returned":1,"omitted":0}
	//   search bank-kb hit_count exact 1 for query "annual fee"
	//   document fees retrieved chunk "c7" position 2 for query "annual fee" with bm25 11.5
	// NO_EVIDENCE {"query":"annual fee","collections":["bank-kb"],"top_k":3,"hit_count":0,"hit_count_is":"exact","not_retrieved":1,"nothing_found":"searched collection bank-kb by bm25 for {\"q\":\"annual fee\"} where query annual fee, top 3, hits that no search found: 1","hits":[],"returned":0,"omitted":0}
}
