package logsearch_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/toolharness/harness/executors/logsearch"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/lines"
)

// The logs of two Kafka brokers are searched for what went wrong in one hour. A
// program gives search.Tool("search_logs") to a boundary.Toolset instead.
func Example() {
	sources, err := logsearch.Files(os.DirFS("testdata/kafka-logs"), logsearch.Log4j{}, "kafka?_server-*.log")
	if err != nil {
		log.Fatal(err)
	}
	search, err := logsearch.New(logsearch.Config{Sources: sources})
	if err != nil {
		log.Fatal(err)
	}
	query := logsearch.Query{Levels: []string{"WARN"}, From: "2016-12-19T20:00:00Z", To: "2016-12-19T21:00:00Z"}
	var raw strings.Builder
	if err := search.Run(context.Background(), query, &raw); err != nil {
		log.Fatal(err)
	}
	p, err := projector.Drive(context.Background(), lines.New(lines.Options{}), projector.Input{Raw: []byte(raw.String())}, projector.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Status)
	for _, fact := range p.Facts[:2] {
		fmt.Println(fact.Subject.Kind, fact.Predicate, fact.Value)
	}
	// Output:
	// EVIDENCE_FOUND
	// log record_count exact 3, first 2016-12-19T20:39:48.918Z, last 2016-12-19T20:51:20.816Z, sample "kafka0_server-2016-12-19-20.log@0"
	// level record_count exact 3, first 2016-12-19T20:39:48.918Z, last 2016-12-19T20:51:20.816Z, sample "kafka0_server-2016-12-19-20.log@0"
}
