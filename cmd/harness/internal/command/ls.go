package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/records"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/retrieval"
)

const lsLong = `List the runs of a scope by the end of their life, or with RUN what became of the calls of
one, in the order of admission. Nothing of what a call was asked or returned is shown.

A list comes in pages. Where there is more, the page says which --after goes on; what is
admitted or opened in between moves nothing.`

func newLs(streams Streams) *cobra.Command {
	var k kept
	var at records.Place
	var filter struct{ tool, status, state string }
	var output string
	cmd := &cobra.Command{
		Use:   "ls [RUN]",
		Short: "List the runs that are kept, or the calls of one",
		Long:  lsLong,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := textOrJSON(output); err != nil {
				return err
			}
			if at.Limit < 1 || at.Limit > retrieval.MaxPage {
				return fmt.Errorf("--limit must be 1 to %d", retrieval.MaxPage)
			}
			if len(args) == 0 {
				if filter.tool+filter.status+filter.state != "" {
					return errors.New("--tool, --status and --state choose among the calls of a RUN")
				}
				return k.with(cmd, func(ctx context.Context, r *records.Reader) error {
					list, err := r.Runs(ctx, at)
					if err != nil {
						return err
					}
					return streams.show(list, output)
				})
			}
			run, err := canonical.ParseRunID(args[0])
			if err != nil {
				return err
			}
			wanted := retrieval.Filter{Run: run, Tool: filter.tool, Status: evidence.Status(filter.status), State: lifecycle.State(filter.state)}
			return k.with(cmd, func(ctx context.Context, r *records.Reader) error {
				list, err := r.Calls(ctx, wanted, at)
				if err != nil {
					return err
				}
				return streams.show(list, output)
			})
		},
	}
	k.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&at.Limit, "limit", retrieval.MaxPage, "entries of a page, 1 to 100")
	flags.StringVar(&at.After, "after", "", "go on behind the page that gave this `CURSOR`")
	flags.StringVar(&filter.tool, "tool", "", "only calls of the tool of this `NAME`")
	flags.StringVar(&filter.status, "status", "", "only calls of this `STATUS`: EVIDENCE_FOUND, NO_EVIDENCE or ERROR")
	flags.StringVar(&filter.state, "state", "", "only calls in this `STATE`: PROJECTING, READY or ERROR")
	outputFlag(cmd, &output)
	return cmd
}
