package logsearch

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/projector/lines"
)

// The codes that the tool reports besides those of the boundary.
const (
	CodeCursorStale  boundary.Code = "LOG_CURSOR_STALE"
	CodeSourceFailed boundary.Code = "LOG_SOURCE_FAILED"
	CodeScanLimit    boundary.Code = "LOG_SCAN_LIMIT"
)

// Codes are the codes with their texts for the model, for boundary.Config.Codes.
// The map is the caller's.
func Codes() map[boundary.Code]string {
	return map[boundary.Code]string{
		CodeCursorStale:  "The log changed since that page was read. Search again without the cursor.",
		CodeSourceFailed: "Part of the log could not be searched and nothing was found in the rest. That does not mean that there is nothing.",
		CodeScanLimit:    "The search read as much as it may and found nothing so far. Name fewer sources under a new id.",
	}
}

// Tool is the search as a tool of a [boundary.Toolset]: executor, schema and the
// projector of package lines with its defaults. Change what it returns where you
// need other ones.
func (s *Search) Tool(name string) boundary.Tool {
	return boundary.Tool{
		Name: name, Effect: boundary.EffectRead, Executor: s.Executor(), Projector: lines.New(lines.Options{}), Schema: s.Schema(),
		Description: "Search a log for records by text, level and time. A result says how many records were found, whether the end of the " +
			"log was reached, and where not it has a cursor: repeat the call with it to go on. Nothing found means nothing in the whole window.",
	}
}

// Executor runs searches with a [Query] as arguments. It is a
// [boundary.ArgumentChecker]: a query that cannot run costs nothing.
func (s *Search) Executor() boundary.Executor {
	return executor{
		boundary.Args(func(ctx context.Context, q Query, raw io.Writer) error { return coded(s.Run(ctx, q, raw)) }),
		boundary.Args(func(_ context.Context, q Query, _ io.Writer) error {
			_, err := s.resolve(q)
			return err
		}),
	}
}

type executor struct {
	boundary.Executor
	check boundary.Executor // decodes and resolves, and touches no source
}

// CheckArguments implements [boundary.ArgumentChecker].
func (e executor) CheckArguments(arguments []byte) error {
	return e.check.Execute(context.Background(), boundary.Input{Arguments: arguments}, io.Discard)
}

func coded(err error) error {
	for _, c := range []struct {
		is   error
		code boundary.Code
	}{{ErrStaleCursor, CodeCursorStale}, {ErrSourceFailed, CodeSourceFailed}, {ErrScanLimit, CodeScanLimit}} {
		if errors.Is(err, c.is) {
			return boundary.Coded(c.code, err)
		}
	}
	return err
}

// Schema is the JSON Schema of a [Query] against this log; it lists the sources.
func (s *Search) Schema() json.RawMessage {
	type object = map[string]any
	text := func(description string) object { return object{"type": "string", "description": description} }
	schema, _ := json.Marshal(object{ // of strings and numbers, which always have a form
		"type": "object", "additionalProperties": false,
		"properties": object{
			"text":        object{"type": "string", "maxLength": maxTextBytes, "description": "Plain text that the record must contain; no pattern."},
			"ignore_case": object{"type": "boolean", "description": "Find text in any letter case."},
			"levels":      object{"type": "array", "maxItems": maxLevels, "items": object{"type": "string"}, "description": "Only records of one of these levels, as WARN or ERROR."},
			"from":        text("Begin of the window, included, RFC 3339 with zone: 2026-01-02T03:04:05Z."),
			"to":          text("End of the window, included, RFC 3339 with zone."),
			"sources":     object{"type": "array", "items": object{"enum": sourceNames(s.sources)}, "description": "Only these parts of the log; all if left out."},
			"limit":       object{"type": "integer", "minimum": 1, "maximum": s.limits.MaxPageRecords, "description": "Records returned at most."},
			"cursor":      text("From an earlier result of the same search; all other arguments as they were."),
		},
	})
	return schema
}
