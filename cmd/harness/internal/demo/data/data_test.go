package data_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
)

func TestImageIsThePublishedFile(t *testing.T) {
	t.Parallel()
	var expected struct {
		Digest string `json:"sqlite_sha256"`
	}
	if err := json.Unmarshal([]byte(data.ChinookExpected()), &expected); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(data.Chinook()))
	if got := hex.EncodeToString(sum[:]); got != expected.Digest || got == "" {
		t.Errorf("digest: got %s, want %s", got, expected.Digest)
	}
}

func TestEveryFolderCarriesItsLicenceAndSource(t *testing.T) {
	t.Parallel()
	for folder, licence := range map[string]string{"chinook": "LICENSE.md", "langchain-sql-agent": "LICENSE"} {
		text, err := os.ReadFile(folder + "/" + licence)
		if err != nil || !strings.Contains(string(text), "Permission is hereby granted, free of charge") {
			t.Errorf("%s/%s: %v, or it is no MIT licence", folder, licence, err)
		}
		source, err := os.ReadFile(folder + "/SOURCE.md")
		if err != nil || !strings.Contains(string(source), "https://github.com/") || !strings.Contains(string(source), "Changes made here") {
			t.Errorf("%s/SOURCE.md: %v, or it does not name its source and changes", folder, err)
		}
	}
}

// What is kept beside the executors has its licence there, and what was written here says so.
func TestWhatIsElsewhereCarriesItsLicenceToo(t *testing.T) {
	t.Parallel()
	executors := "../../../../../executors/"
	for folder, words := range map[string][2]string{
		executors + "logsearch/testdata/kafka-logs":  {"Apache License", "Apache-2.0"},
		executors + "docsearch/testdata/rho-bank-kb": {"Permission is hereby granted, free of charge", "MIT"},
		"own-chinese": {"Apache License", "written for the demo"},
	} {
		licence, err1 := os.ReadFile(folder + "/LICENSE")
		source, err2 := os.ReadFile(folder + "/SOURCE.md")
		if err1 != nil || err2 != nil || !strings.Contains(string(licence), words[0]) || !strings.Contains(string(source), words[1]) {
			t.Errorf("%s: %v, %v, or not the licence or source that it must have", folder, err1, err2)
		}
	}
}

// The program carries the files that are in the folders, and all of them.
func TestWhatIsEmbeddedIsWhatIsThere(t *testing.T) {
	t.Parallel()
	var expected map[string]struct{ Bytes int }
	if err := json.Unmarshal([]byte(data.KafkaExpected()), &expected); err != nil || len(expected) != 10 {
		t.Fatalf("got %d files, %v", len(expected), err)
	}
	for name, file := range expected {
		if content, err := fs.ReadFile(data.KafkaLogs(), name); err != nil || len(content) != file.Bytes {
			t.Errorf("%s: got %d bytes, %v, want %d", name, len(content), err, file.Bytes)
		}
	}
	if files, err := fs.Glob(data.KafkaLogs(), "*.log"); err != nil || len(files) != len(expected) {
		t.Errorf("got %d log files, %v, want %d", len(files), err, len(expected))
	}
	var bank struct{ Documents int }
	if err := json.Unmarshal([]byte(data.BankExpected()), &bank); err != nil || strings.Count(data.BankArticles(), "\n") != bank.Documents {
		t.Errorf("got %d articles, %v, want %d", strings.Count(data.BankArticles(), "\n"), err, bank.Documents)
	}
	if n := strings.Count(data.ChineseArticles(), "\n"); n != 8 {
		t.Errorf("got %d articles in Chinese, want 8", n)
	}
}
