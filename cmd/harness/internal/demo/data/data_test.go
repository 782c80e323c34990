package data_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
