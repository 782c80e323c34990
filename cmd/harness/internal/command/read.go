package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/records"
)

const readLong = `Write what a call returned to standard output, byte for byte and nothing else: its view,
in which credentials are replaced and what is not UTF-8 is shown as U+FFFD. The whole
result is verified before the first byte. On a terminal control characters are shown as
U+FFFD, too.

With --bytes a part is written; -o json has where the next one begins (next; none at the
end) and the digest of the whole view, which --view holds the next part to. Parts put
together are the view. Offsets count bytes and lie between characters; a part has one
character at least.

With --raw it is the bytes that the tool returned: nothing is redacted.

CALL is the call's name as 'harness ls RUN' shows it.`

func newRead(streams Streams) *cobra.Command {
	var k kept
	var part records.Part
	var raw bool
	var id, output string
	cmd := &cobra.Command{
		Use:   "read RUN CALL",
		Short: "Read what a call returned, without credentials",
		Long:  readLong,
		Args:  cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, err := call(args, id)
			if err == nil {
				err = textOrJSON(output)
			}
			switch {
			case err != nil:
				return err
			case raw && part.View != "":
				return errors.New("--view is of a view, --raw shows none")
			case cmd.Flags().Changed("bytes") && part.Bytes < 1:
				return errors.New("--bytes must be 1 at least")
			}
			ask.Raw = raw
			return k.with(cmd, func(ctx context.Context, r *records.Reader) error {
				read, err := r.Read(ctx, ask, part)
				if err != nil {
					return err
				}
				if output == "text" {
					return streams.content(read.Content())
				}
				if err := encode(streams.Out, read); err != nil {
					return failure{fmt.Errorf("the result could not be printed: %w", err)}
				}
				return nil
			})
		},
	}
	k.add(cmd)
	flags := cmd.Flags()
	flags.Int64Var(&part.Offset, "offset", 0, "begin at this byte of the view, or of the raw bytes")
	flags.Int64Var(&part.Bytes, "bytes", 0, "so many bytes at most, to 8388608; without it all")
	flags.StringVar(&part.View, "view", "", "only of the view with this `DIGEST`, or its first 16 digits or more")
	flags.BoolVar(&raw, "raw", false, "the bytes that the tool returned, not redacted")
	flags.StringVar(&id, "evidence", "", "of the call with this evidence `ID`, in place of CALL; without RUN it is looked for in 1,000 runs")
	outputFlag(cmd, &output)
	return cmd
}

// content writes bytes as they are. On a terminal, which would obey some of them, they are made harmless and end a line.
func (s Streams) content(b []byte) error {
	if s.terminal() {
		text := console.Block(string(b))
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		b = []byte(text)
	}
	if _, err := s.Out.Write(b); err != nil {
		return failure{fmt.Errorf("the result could not be printed: %w", err)}
	}
	return nil
}

func (s Streams) terminal() bool {
	file, ok := s.Out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
