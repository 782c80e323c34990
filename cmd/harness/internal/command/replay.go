package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/replay"
)

const replayLong = `Send recorded conversations through the boundary, with a tool that returns the recorded
result, and count what becomes of every call. The format is found from the content:
OpenAI Chat and Responses, Anthropic Messages, Gemini, Bedrock Converse; as JSON, as JSON
lines, or as recorded exchanges with streamed bodies.

Each conversation is one run with unlimited budgets. Every result that a model could get
is read back through a second client and compared with the recording. The exit status is
1 when a file could not be read or a result is not what was recorded.

Without --redis and --data the store is embedded and nothing is left anywhere. With --redis
the keys of the runs are removed at the end unless --keep is given; no other key is touched.
With --data they stay in the directory until they expire. 'harness ls --tenant replay' lists
what stays.`

func newReplay(streams Streams) *cobra.Command {
	var options replay.Options
	var output string
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Send anyone's recorded conversations through the boundary and count",
		Long:  replayLong,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			for _, name := range []string{"redis", "data"} {
				if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
					return fmt.Errorf("--%s is empty", name) // most likely a variable that is not set
				}
			}
			options.Files = files
			switch output {
			case "text":
				out := streams.console()
				defer out.Close()
				document, err := replay.Run(cmd.Context(), options, replay.NewText(out))
				return replayVerdict(document, err, out.Err())
			case "json":
				return replayJSON(cmd.Context(), options, streams)
			}
			return errors.New("--output must be text or json")
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.Turns, "turns", false, "let an id occur again in a later message: the message's index is the call's turn")
	flags.StringVar(&options.Redis, "redis", "", "keep the records in the Redis at this `URL`: redis://, rediss:// or unix://")
	flags.StringVar(&options.Data, "data", "", "keep the records in a file in this `DIR`, which is made if it is missing, until they expire")
	flags.BoolVar(&options.Keep, "keep", false, "leave the records in Redis until they expire, and print how to look at one")
	flags.StringVarP(&output, "output", "o", "text", "`FORMAT` of the result: text, or json for one document at the end")
	return cmd
}

func replayJSON(ctx context.Context, o replay.Options, streams Streams) error {
	document, err := replay.Run(ctx, o, replay.Silent{})
	if err != nil {
		return replayVerdict(document, err, nil)
	}
	return replayVerdict(document, nil, encode(streams.Out, document))
}

// replayVerdict turns what came of a replay into the program's error: one of usage, one of a replay that could not go on,
// or what is not as it must be. A result that could not be printed is a failure of its own.
func replayVerdict(d replay.Document, err, printing error) error {
	switch {
	case errors.As(err, new(*replay.OptionError)), badAddress(err):
		return err
	case err != nil:
		return failure{err}
	case printing != nil:
		return failure{fmt.Errorf("the result could not be printed: %w", printing)}
	case d.OK():
		return nil
	}
	var problems []error
	for _, unread := range d.Unread {
		problems = append(problems, errors.New(console.Plain(unread.Error()))) // it has a name of a file
	}
	if d.RawMismatch > 0 {
		problems = append(problems, fmt.Errorf("replay: %d of %d results read back are not what was recorded", d.RawMismatch, d.Ready))
	}
	return failure{errors.Join(problems...)}
}
