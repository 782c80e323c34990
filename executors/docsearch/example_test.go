package docsearch_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/toolharness/harness/executors/docsearch"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/hits"
)

// An index of two articles is asked in both of its languages. A program gives
// index.Tool("search_articles") to a boundary.Toolset instead.
func Example() {
	ctx := context.Background()
	index, err := docsearch.Build(ctx, docsearch.Config{Name: "bank-kb"}, docsearch.Of(
		docsearch.Document{ID: "fees", Title: "Annual fees", Text: "The Gold Rewards Card has an annual fee of $95."},
		docsearch.Document{ID: "nianfei", Title: "年费", Text: "金卡的年费为 95 美元，首年免收。"},
	))
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	for _, query := range []string{"fee of the gold card", "金卡年费多少", "cryptocurrency"} {
		var raw strings.Builder
		if err := index.Run(ctx, docsearch.Query{Query: query}, &raw); err != nil {
			log.Fatal(err)
		}
		p, err := projector.Drive(ctx, hits.New(hits.Options{}), projector.Input{Raw: []byte(raw.String())}, projector.Options{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(query, p.Status)
		for _, fact := range p.Facts {
			fmt.Println(" ", fact.Subject.ID, fact.Predicate)
		}
	}
	// Output:
	// fee of the gold card EVIDENCE_FOUND
	//   bank-kb hit_count
	//   fees retrieved
	// 金卡年费多少 EVIDENCE_FOUND
	//   bank-kb hit_count
	//   nianfei retrieved
	// cryptocurrency NO_EVIDENCE
}
