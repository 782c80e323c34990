// Package loop is the agent loop of the README: a model, a SQL tool, and the
// boundary between them. It runs against a real database in the tests of
// cmd/harness.
package loop

// README:start
import (
	"context"
	"database/sql"
	"io"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/projector/rows"
)

// Query is what the model sends.
type Query struct {
	SQL string `json:"query"`
}

// NewTools gives the model one tool. Use an account that can only read.
func NewTools(b *boundary.ToolBoundary, db *sql.DB) (*boundary.Toolset, error) {
	return boundary.NewToolset(b, boundary.Tool{
		Name: "sql", Description: "Run one SELECT.", Effect: boundary.EffectRead,
		Projector: rows.New(rows.Options{}),
		Schema:    []byte(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
		Executor: boundary.Args(func(ctx context.Context, q Query, raw io.Writer) error {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
			if err != nil {
				return err
			}
			defer tx.Rollback()
			found, err := tx.QueryContext(ctx, q.SQL)
			if err != nil {
				return boundary.Coded("SQL_ERROR", err) // the model reads Config.Codes["SQL_ERROR"]
			}
			defer found.Close()
			return rows.Encoder{Database: "shop", Statement: q.SQL}.Encode(raw, found)
		}),
	})
}

// Answer goes on until the model stops calling tools.
func Answer(ctx context.Context, tools *boundary.Toolset, run *boundary.Run, model Model, question string) (string, error) {
	history := []Message{{Role: "user", Text: question}}
	for {
		reply, err := model.Next(ctx, history, tools.Definitions())
		if err != nil || len(reply.Calls) == 0 {
			return reply.Text, err
		}
		history = append(history, reply)
		for i, result := range tools.Dispatch(ctx, run, reply.Calls...) {
			history = append(history, Message{Role: "tool", CallID: reply.Calls[i].ID, Text: result.Outcome.Text()})
		}
	}
}

// README:end

// Message is one message of the conversation.
type Message struct {
	Role   string
	Text   string
	Calls  []boundary.Call     // of an assistant message
	CallID boundary.ToolCallID // of a tool message
}

// Model is whatever answers with text or with tool calls.
type Model interface {
	Next(ctx context.Context, history []Message, tools []boundary.Definition) (Message, error)
}
