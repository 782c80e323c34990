package command

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print which build this is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return failure{errors.New("this build carries no information about itself")}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "harness %s, %s\n", info.Main.Version, info.GoVersion)
			if err != nil {
				return failure{err}
			}
			return nil
		},
	}
}
