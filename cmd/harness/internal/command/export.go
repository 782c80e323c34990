package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/records"
)

const exportLong = `Write a run as one file of JSON lines: the run, its calls with all bodies, what became
known later, a manifest of digests. Everything is verified on its way, and the file again
when it is written. 'harness verify FILE' checks it anywhere, without a store.

Nothing is redacted: who has the file has the data. It is made for its owner alone, and a
file that is there already is not written over. Without -o it goes to standard output.

Keep the sha256 that is printed elsewhere: it tells later whether the file is still this
one. A run that is not closed is written up to the calls that it has.`

func newExport(streams Streams) *cobra.Command {
	var k kept
	var file, summary string
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run as a file that can be checked anywhere",
		Long:  exportLong,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := canonical.ParseRunID(args[0])
			switch {
			case err != nil:
				return err
			case file == "" && cmd.Flags().Changed("output"):
				return errors.New("--output is empty") // most likely a variable that is not set
			case file == "text" || file == "json": // what -o means in every other command
				return errors.New("--output names the file here; --summary json prints what was written as JSON, and ./" + file + " is a file of that name")
			case summary != "text" && summary != "json":
				return errors.New("--summary must be text or json")
			case file == "" && cmd.Flags().Changed("summary"):
				return errors.New("--summary goes to standard output, and so does the run without --output")
			case file == "" && streams.terminal():
				return errors.New("an export is not for a terminal: name a file with --output")
			}
			return k.with(cmd, func(ctx context.Context, r *records.Reader) error {
				if file == "" {
					return streams.exported(ctx, r, run)
				}
				made, err := r.ExportFile(ctx, file, run)
				if errors.As(err, new(*records.FileTrouble)) {
					return failure{fmt.Errorf("export: %s: %w", console.Plain(file), err)}
				}
				if err != nil {
					return err
				}
				return streams.show(made, summary)
			})
		},
	}
	k.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&file, "output", "o", "", "write to this `FILE`, which must not be there yet")
	flags.StringVar(&summary, "summary", "text", "`FORMAT` of what is printed about the file: text, or json for one document")
	return cmd
}

// exported writes a run to standard output. What is cut there is refused by verify.
func (s Streams) exported(ctx context.Context, r *records.Reader, run canonical.RunID) error {
	_, err := r.Export(ctx, s.Out, run)
	if errors.As(err, new(*records.FileTrouble)) {
		return failure{fmt.Errorf("the result could not be printed: %w", err)}
	}
	return err
}
