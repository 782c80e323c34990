package sample

import (
	"os"
	"testing"
)

// The streams beside this folder were recorded from these tests:
//
//	SAMPLE=good go test -json ./... > ../good.jsonl
//
// and likewise for the other words below. P09 stands in this comment only.

func mode(word string) bool { return os.Getenv("SAMPLE") == word }

func TestAdmit(t *testing.T) {
	for _, store := range []string{"fake", "embedded", "redis"} {
		if store == "redis" && mode("nostore") {
			continue
		}
		t.Run(store, func(t *testing.T) {
			t.Run("P01_reply_lost", func(t *testing.T) {
				if store == "redis" && mode("fail") {
					t.Error("a record too many")
				}
				if store == "redis" && mode("skip") {
					t.Skip("no server, and none is required: P01_ is not shown on redis")
				}
			})
			if store == "redis" && mode("parent") {
				t.Error("noticed after the subtest passed")
			}
		})
	}
}

func TestT01_T02_one_call(t *testing.T) { t.Log("P09_in_the_log") }

func TestP09(t *testing.T) { t.Log("a number without an underscore behind it") }

func TestP10_only_its_parts_count(t *testing.T) {
	t.Run("part", func(t *testing.T) {
		if mode("skip") {
			t.Skip("not required to run")
		}
	})
}
