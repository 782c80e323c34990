package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolharness/harness/cmd/harness/internal/records"
)

const showLong = `Show what is known of one call: what became of it and when, sizes and digests, the facts
and the coverage of its result, and what became known later. The whole record is verified
first.

Credentials in facts and coverage are replaced. Bodies are shown with --raw alone, as they
were stored: request, raw result and what the model got. Nothing is redacted then.

CALL is the call's name as 'harness ls RUN' shows it: the id, or turn:id where it has a
turn, or :id where the id itself has a colon.`

func newShow(streams Streams) *cobra.Command {
	var k kept
	var raw bool
	var id, output string
	cmd := &cobra.Command{
		Use:   "show RUN CALL",
		Short: "Show what is known of one call",
		Long:  showLong,
		Args:  cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, err := call(args, id)
			if err == nil {
				err = textOrJSON(output)
			}
			if err != nil {
				return err
			}
			ask.Raw = raw
			return k.with(cmd, func(ctx context.Context, r *records.Reader) error {
				record, err := r.Record(ctx, ask)
				if err != nil {
					return err
				}
				return streams.show(record, output)
			})
		},
	}
	k.add(cmd)
	cmd.Flags().BoolVar(&raw, "raw", false, "show the bodies too, as they were stored")
	cmd.Flags().StringVar(&id, "evidence", "", "the call with this evidence `ID`, in place of CALL; without RUN it is looked for in 1,000 runs")
	outputFlag(cmd, &output)
	return cmd
}
