package sqlagent

import (
	"context"
	"encoding/json"
	"io"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/projector/rows"
)

// ForBoundary describes the tools for boundary.NewToolset, in the order of the package comment. All of them read, and have
// the budgets, timeouts and limits of their run. The slice is the caller's, who may narrow them.
func (t *Tools) ForBoundary() []boundary.Tool {
	return []boundary.Tool{
		{
			Name: NameListTables, Effect: boundary.EffectRead,
			Description: "List the tables of the database. Takes no argument.",
			Schema:      schemaOf(""), Executor: executor(t.ListTables), Projector: t.projectTables(),
		},
		{
			Name: NameSchema, Effect: boundary.EffectRead,
			Description: "Show definition and first rows of tables, given as names separated by commas.",
			Schema:      schemaOf("table_names"), Executor: executor(t.Schema), Projector: t.projectSchema(),
		},
		{
			Name: NameQueryChecker, Effect: boundary.EffectRead,
			Description: "Check whether the database would start a statement, without running it.",
			Schema:      schemaOf("query"), Executor: executor(t.CheckQuery), Projector: t.projectCheck(),
		},
		{
			Name: NameQuery, Effect: boundary.EffectRead,
			Description: "Run one statement that only reads, and show its first rows.",
			Schema:      schemaOf("query"), Executor: executor(t.Query), Projector: rows.New(rows.Options{Database: t.name}),
		},
		{
			Name: NameProperNouns, Effect: boundary.EffectRead,
			Description: "Find the artist, album and genre names nearest to a text, to filter by the name as it is spelled.",
			Schema:      schemaOf("query"), Executor: executor(t.ProperNouns), Projector: t.projectNouns(),
		},
	}
}

// executor decodes arguments strictly and gives errors their codes.
func executor[In any](f func(context.Context, In, io.Writer) error) boundary.Executor {
	return boundary.Args(func(ctx context.Context, in In, raw io.Writer) error { return coded(f(ctx, in, raw)) })
}

// schemaOf is the JSON Schema of an object with one required text, or of an empty one.
func schemaOf(member string) json.RawMessage {
	if member == "" {
		return json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	return json.RawMessage(`{"type":"object","properties":{"` + member + `":{"type":"string"}},"required":["` + member + `"],"additionalProperties":false}`)
}
