// Package testdata is the log that the tests of package logsearch search, for
// programs that search it too: one copy of the files serves both.
//
//	kafka-logs/   ten files of two Kafka brokers, 19 December 2016   Apache-2.0
//
// Licence, source and what was changed stand beside the files. A program that
// imports this package carries the log, 758 KB, and needs no path.
package testdata

import (
	"embed"
	"io/fs"
)

//go:embed kafka-logs/*.log kafka-logs/expected.json
var kafkaLogs embed.FS

// KafkaLogs has the ten files, *.log, and expected.json, the counts that were
// made from them without this project's code. It cannot be written to.
func KafkaLogs() fs.FS {
	files, _ := fs.Sub(kafkaLogs, "kafka-logs") // fails for names that are no paths
	return files
}
