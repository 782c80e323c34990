package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine is where and when the numbers were taken. Without it they say nothing.
type Machine struct {
	Started time.Time `json:"started"`
	OS      string    `json:"os"`
	CPU     string    `json:"cpu,omitempty"`
	Cores   int       `json:"cores"`
	Go      string    `json:"go"`
	Redis   string    `json:"redis"`
	Load    string    `json:"load,omitempty"` // average of the last minute when it began; this run's own work comes on top
}

// ThisMachine describes the machine that it runs on, as far as it tells.
func ThisMachine(redis string) Machine {
	m := Machine{
		Started: time.Now().UTC().Truncate(time.Second), OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(),
		Go: runtime.Version(), Redis: redis,
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	return m
}

// Document is everything that one run of a program has measured.
type Document struct {
	Command string  `json:"command"` // with its flags
	Machine Machine `json:"machine"`
	Tables  []Table `json:"tables"`
	Ended   string  `json:"load_at_end,omitempty"` // load average of the last minute
}

// Text writes what a person reads.
func (d Document) Text(w io.Writer) error {
	m := d.Machine
	_, err := fmt.Fprintf(w, "%s\n%s; %s, %d cores (%s); %s; Redis %s; load %s at the beginning, %s at the end\n\n",
		d.Command, m.Started.Format(time.RFC3339), m.OS, m.Cores, m.CPU, m.Go, m.Redis, m.Load, d.Ended)
	for _, t := range d.Tables {
		if err == nil {
			err = t.text(w)
		}
	}
	return err
}

// JSON writes what a program reads.
func (d Document) JSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	return out.Encode(d)
}
