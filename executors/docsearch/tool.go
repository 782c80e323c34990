package docsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/projector/hits"
)

// CodeSearchFailed is the code that the tool reports besides those of the boundary.
const CodeSearchFailed boundary.Code = "DOC_SEARCH_FAILED"

// Codes are the codes with their texts for the model, for boundary.Config.Codes.
// The map is the caller's.
func Codes() map[boundary.Code]string {
	return map[boundary.Code]string{
		CodeSearchFailed: "The documents could not be searched. That says nothing about what they hold.",
	}
}

// Tool is the search as a tool of a [boundary.Toolset]: executor, schema and the
// projector of package hits with its defaults. Change what it returns where you
// need other ones.
func (x *Index) Tool(name string) boundary.Tool {
	return boundary.Tool{
		Name: name, Effect: boundary.EffectRead, Executor: x.Executor(), Projector: hits.New(hits.Options{}), Schema: x.Schema(),
		Description: fmt.Sprintf("Search the collection %s of %d documents by words and get the best matches, each with a passage. "+
			"Use the words that the document would use; several words find more. There are no operators.", x.config.Name, x.count),
	}
}

// Executor runs searches with a [Query] as arguments. It is a
// [boundary.ArgumentChecker]: a query that cannot run costs nothing.
func (x *Index) Executor() boundary.Executor {
	return executor{
		boundary.Args(func(ctx context.Context, q Query, raw io.Writer) error {
			err := x.Run(ctx, q, raw)
			if errors.Is(err, ErrFailed) {
				return boundary.Coded(CodeSearchFailed, err)
			}
			return err
		}),
		boundary.Args(func(_ context.Context, q Query, _ io.Writer) error {
			_, err := x.resolve(q)
			return err
		}),
	}
}

type executor struct {
	boundary.Executor
	check boundary.Executor // decodes and resolves, and does not search
}

// CheckArguments implements [boundary.ArgumentChecker].
func (e executor) CheckArguments(arguments []byte) error {
	return e.check.Execute(context.Background(), boundary.Input{Arguments: arguments}, io.Discard)
}

// Schema is the JSON Schema of a [Query] against this index; it lists the fields.
func (x *Index) Schema() json.RawMessage {
	type object = map[string]any
	properties := object{
		"query": object{"type": "string", "minLength": 1, "maxLength": x.limits.MaxQueryBytes, "description": "Words to look for, in the language of the documents."},
		"top_k": object{"type": "integer", "minimum": 1, "maximum": x.limits.MaxTopK, "description": "Matches returned at most."},
	}
	if len(x.config.Fields) > 0 {
		fields := object{}
		for _, name := range x.config.Fields {
			fields[name] = object{"type": "string", "minLength": 1, "maxLength": MaxFieldValueBytes}
		}
		properties["filters"] = object{"type": "object", "additionalProperties": false, "properties": fields, "description": "Only documents whose fields have exactly these values."}
	}
	schema, _ := json.Marshal(object{ // of strings and numbers, which always have a form
		"type": "object", "additionalProperties": false, "required": []string{"query"}, "properties": properties,
	})
	return schema
}
