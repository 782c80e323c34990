package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/demo"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/redisstore"
)

const demoLong = `Run the recorded calls of a real SQL agent on a real database through the boundary, then
messages of our own whose calls run at once: on broker logs, on a bank's articles and on the
database, with searches that find nothing and with Chinese text; then calls that must be
refused; then state the facts of the run. Everything that is shown is checked; the exit
status is 1 when anything is not as it must be.

Without --redis and --data the store is embedded and nothing is left anywhere. With --redis
the keys of the run are removed at the end unless --keep is given; no other key is touched.
With --data they stay in the directory until they expire. 'harness ls' lists what stays.`

func newDemo(streams Streams) *cobra.Command {
	var options demo.Options
	var output string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show on real data what becomes of an agent's tool calls",
		Long:  demoLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"redis", "data", "entries"} {
				if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
					return fmt.Errorf("--%s is empty", name) // most likely a variable that is not set
				}
			}
			switch output {
			case "text":
				return demoText(cmd.Context(), options, streams)
			case "json":
				return demoJSON(cmd.Context(), options, streams.Out)
			}
			return errors.New("--output must be text or json")
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Redis, "redis", "", "keep the records in the Redis at this `URL`: redis://, rediss:// or unix://")
	flags.StringVar(&options.Data, "data", "", "keep the records in a file in this `DIR`, which is made if it is missing, until they expire")
	flags.BoolVar(&options.Keep, "keep", false, "leave the records in Redis until they expire, and print how to look at one")
	flags.StringVar(&options.Entries, "entries", "", "append a line to this `FILE` for each entry into a tool: run, id (turn:id in a turn), tool")
	flags.StringVarP(&output, "output", "o", "text", "`FORMAT` of the result: text, or json for one document at the end")
	return cmd
}

func demoText(ctx context.Context, o demo.Options, streams Streams) error {
	out := streams.console()
	defer out.Close()
	document, err := demo.Run(ctx, o, demo.NewText(out))
	return verdict(document, err, out.Err())
}

func demoJSON(ctx context.Context, o demo.Options, out io.Writer) error {
	document, err := demo.Run(ctx, o, demo.Silent{})
	if err != nil {
		return verdict(document, err, nil)
	}
	return verdict(document, nil, encode(out, document))
}

// encode prints one JSON document. What a tool returned is shown as it is, not escaped for a page.
func encode(out io.Writer, document any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

// verdict turns what came of a demo into the program's error: one of usage, one of a demo that could not go on, or the
// checks that failed. A result that could not be printed is a failure of its own.
func verdict(d demo.Document, err, printing error) error {
	var option *demo.OptionError
	switch {
	case errors.As(err, &option), badAddress(err):
		return err
	case err != nil:
		return failure{err}
	case printing != nil:
		return failure{fmt.Errorf("the result could not be printed: %w", printing)}
	}
	failed := d.Failed()
	if len(failed) == 0 {
		return nil
	}
	what := make([]string, len(failed))
	for i, c := range failed {
		what[i] = c.What + ": " + console.Plain(c.Detail)
	}
	return failure{fmt.Errorf("demo: %d of %d checks failed: %s", len(failed), len(d.Checks), strings.Join(what, "; "))}
}

// badAddress tells an address that no server can be asked about from a server that does not answer.
func badAddress(err error) bool {
	return errors.As(err, new(*redisstore.URLError)) || errors.As(err, new(*place.AddressError))
}

// console is the place for text. What TERM and NO_COLOR ask for is honoured (https://no-color.org).
func (s Streams) console() *console.Console {
	file, ok := s.Out.(*os.File)
	if !ok || s.env("TERM") == "dumb" {
		return console.New(s.Out, 0)
	}
	out := console.For(file)
	out.Colour(s.env("NO_COLOR") == "")
	return out
}

func (s Streams) env(name string) string {
	if s.Env == nil {
		return ""
	}
	return s.Env(name)
}
