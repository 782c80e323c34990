package command

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/records"
	"github.com/toolharness/harness/retrieval"
)

const verifyLong = `Check a file that 'harness export' wrote, without any store: every line against the
manifest, every body against its digest, references, operation keys and the order of the
calls. The first record that does not fit is named, and the exit status is 4.

It shows that the file is what was written. Whether it is the file that was written then,
--sha256 shows, with the digest that export printed.`

func newVerify(streams Streams) *cobra.Command {
	var want, output string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check an exported run, without a store",
		Long:  verifyLong,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := textOrJSON(output); err != nil {
				return err
			}
			if cmd.Flags().Changed("sha256") && (len(want) != 64 || strings.Trim(want, "0123456789abcdef") != "") {
				return errors.New("--sha256 must be 64 hexadecimal digits, small letters")
			}
			found, err := records.Verify(args[0], want)
			if errors.Is(err, retrieval.ErrExport) && output == "json" {
				if err := streams.show(found, output); err != nil {
					return err
				}
			}
			if err != nil {
				return verified(found, err)
			}
			return streams.show(found, output)
		},
	}
	cmd.Flags().StringVar(&want, "sha256", "", "the file must have this `DIGEST`, as export printed it")
	outputFlag(cmd, &output)
	return cmd
}

// verified names the file and what of it is wrong first.
func verified(found records.Manifest, err error) error {
	name := "verify: " + console.Plain(found.File)
	var wrong *retrieval.FileError
	switch {
	case errors.As(err, &wrong) && wrong.Record != "":
		return answer{failure{fmt.Errorf("%s: line %d (%s): %s", name, wrong.Line, wrong.Record, wrong.Reason)}, ExitDiffers}
	case wrong != nil:
		return answer{failure{fmt.Errorf("%s: line %d: %s", name, wrong.Line, wrong.Reason)}, ExitDiffers}
	case errors.Is(err, retrieval.ErrExport):
		return answer{failure{fmt.Errorf("%s: %s", name, found.Reason)}, ExitDiffers}
	case errors.Is(err, fs.ErrNotExist):
		return answer{failure{fmt.Errorf("%s: %w", name, err)}, ExitMissing}
	}
	return failure{fmt.Errorf("%s: %w", name, err)}
}
