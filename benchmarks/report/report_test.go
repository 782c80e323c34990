package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func sample() Document {
	t := Table{Title: "Calls", Columns: []Column{{Name: "size"}, {Name: "calls/s"}, {Name: "allocations", Digits: 1}}}
	t.Add("1 KiB", 12345.6, 7.25)
	t.Add("4 MiB", 9.0, math.NaN())
	t.Notef("%d rounds", 5)
	return Document{Command: "bench", Machine: ThisMachine("7.0"), Tables: []Table{t}}
}

func TestText_lines_up(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := sample().Text(&out); err != nil {
		t.Fatal(err)
	}
	want := `## Calls

| size  | calls/s | allocations |
| ----- | ------- | ----------- |
| 1 KiB | 12346   | 7.2         |
| 4 MiB | 9       | -           |

5 rounds
`
	if !strings.Contains(out.String(), want) {
		t.Errorf("text\n%s\nwants\n%s", out.String(), want)
	}
}

func TestJSON_keeps_all_digits(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := sample().JSON(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Machine struct {
			Cores int
			Redis string
		}
		Tables []struct {
			Title string
			Rows  [][]any
			Notes []string
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Machine.Cores < 1 || got.Machine.Redis != "7.0" || len(got.Tables) != 1 || got.Tables[0].Rows[0][1] != 12345.6 || got.Tables[0].Rows[1][2] != nil {
		t.Errorf("%+v", got)
	}
}
