package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// entries is told by each tool that it was entered, before it does anything else, and what it wrote. It is the tools' own
// account, beside the boundary's.
type entries struct {
	path string
	file *os.File // nil: none

	mu   sync.Mutex
	list []*entry
}

// entry is one entry into a tool.
type entry struct {
	identity canonical.Identity
	tool     string
	size     int64
	sha256   string // of what the tool wrote
	failed   bool
}

// openEntries opens the file for appending, so that several processes may share it.
func openEntries(path string) (*entries, error) {
	if path == "" {
		return &entries{}, nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("demo: entries file: %w", err)
	}
	return &entries{path: path, file: file}, nil
}

func (e *entries) close() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}

// around counts the entries of a tool.
func (e *entries) around(x boundary.Executor) boundary.Executor { return counted{x, e} }

type counted struct {
	boundary.Executor
	entries *entries
}

// CheckArguments passes the question on: a wrapper must not lose the tool's own check.
func (c counted) CheckArguments(arguments []byte) error {
	if checker, ok := c.Executor.(boundary.ArgumentChecker); ok {
		return checker.CheckArguments(arguments)
	}
	return nil
}

// Execute notes the entry and then runs the tool.
func (c counted) Execute(ctx context.Context, in boundary.Input, raw io.Writer) error {
	entered, err := c.entries.enter(in)
	if err != nil {
		return err
	}
	account := &accountant{to: raw, digest: sha256.New()}
	err = c.Executor.Execute(ctx, in, account)
	c.entries.leave(entered, account, err)
	return err
}

// enter appends the line in one write, which no other writer of the file can tear apart.
func (e *entries) enter(in boundary.Input) (*entry, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	entered := &entry{identity: in.Identity, tool: in.Tool}
	e.list = append(e.list, entered)
	if e.file == nil {
		return entered, nil
	}
	_, err := e.file.WriteString(line(in.Identity, in.Tool))
	return entered, err
}

// line needs no quotes: neither of the three can hold a blank. A call of a turn is named by both.
func line(identity canonical.Identity, tool string) string {
	return fmt.Sprintf("%s\t%s\t%s\n", identity.Run, label(identity.Call), tool)
}

func (e *entries) leave(entered *entry, a *accountant, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	entered.size, entered.sha256, entered.failed = a.size, hex.EncodeToString(a.digest.Sum(nil)), err != nil
}

// all is a copy of what was noted so far, in the order of the entries.
func (e *entries) all() []entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]entry, len(e.list))
	for i, entered := range e.list {
		list[i] = *entered
	}
	return list
}

// recount reads the lines of these runs back from the file, if that is a file that can be read twice.
func (e *entries) recount(runs []canonical.RunKey) (lines []string, counted bool, err error) {
	if e.file == nil {
		return nil, false, nil
	}
	info, err := e.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, false, err
	}
	text, err := os.ReadFile(e.path)
	if err != nil {
		return nil, false, err
	}
	for row := range strings.Lines(string(text)) {
		for _, run := range runs {
			if strings.HasPrefix(row, string(run.Run)+"\t") {
				lines = append(lines, row)
			}
		}
	}
	return lines, true, nil
}

// accountant passes bytes on and digests those that were taken.
type accountant struct {
	to     io.Writer
	digest hash.Hash
	size   int64
}

func (a *accountant) Write(p []byte) (int, error) {
	n, err := a.to.Write(p)
	a.digest.Write(p[:n])
	a.size += int64(n)
	return n, err
}
