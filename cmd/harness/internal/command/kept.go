package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/demo"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/cmd/harness/internal/records"
	"github.com/toolharness/harness/localstore"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/retrieval"
)

const keptHelp = `

The store is a Redis (--redis): one server, a cluster or a Sentinel group; or the file that
demo --data or replay --data kept (--data), which one process can have at a time. The scope
is exactly --tenant, --owner and --namespace; without any of the three it is that of the demo,
which is --tenant demo --namespace chinook. Runs of a replay are --tenant replay.

The exit status is 3 where nothing of that name is there (any more), and 4 where stored
bytes are not what was recorded of them.`

// kept are the flags of a command that reads what runs left behind.
type kept struct {
	where  place.Where
	prefix string
	scope  canonical.Scope
}

func (k *kept) add(cmd *cobra.Command) {
	cmd.Long += keptHelp
	flags := cmd.Flags()
	flags.StringVar(&k.where.Redis, "redis", "", "read from the Redis at this `URL`, as redisstore takes it: redis://, redis+cluster://, ...")
	flags.StringVar(&k.where.Data, "data", "", "read from the file in this `DIR`")
	flags.StringVar(&k.prefix, "prefix", redisstore.DefaultPrefix, "`PREFIX` of the store's keys in Redis")
	flags.StringVar(&k.scope.Tenant, "tenant", "", "tenant of the runs")
	flags.StringVar(&k.scope.Owner, "owner", "", "owner of the runs")
	flags.StringVar(&k.scope.Namespace, "namespace", "", "namespace of the runs")
}

// outputFlag adds -o, whose values are checked by textOrJSON.
func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "`FORMAT` of the result: text, or json for one document")
}

func textOrJSON(output string) error {
	if output != "text" && output != "json" {
		return errors.New("--output must be text or json")
	}
	return nil
}

// check is everything that can be known before the store is asked.
func (k *kept) check(cmd *cobra.Command) error {
	given := false
	for _, name := range []string{"tenant", "owner", "namespace"} {
		given = given || cmd.Flags().Changed(name)
	}
	if !given {
		k.scope = demo.Scope()
	}
	for _, name := range []string{"redis", "data"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return fmt.Errorf("--%s is empty", name) // most likely a variable that is not set
		}
	}
	switch {
	case k.where == place.Where{}:
		return errors.New("no store is named: --data DIR or --redis URL")
	case k.where.Data != "" && cmd.Flags().Changed("prefix"):
		return errors.New("--prefix is of keys in Redis")
	}
	return k.scope.Validate()
}

// with opens the store for one question and closes it again.
func (k *kept) with(cmd *cobra.Command, ask func(context.Context, *records.Reader) error) error {
	if err := k.check(cmd); err != nil {
		return err
	}
	store, err := place.OpenKept(cmd.Context(), k.where, k.prefix)
	if err != nil {
		return judged(cmd, err)
	}
	reader, err := records.New(store.Store, k.scope)
	if err == nil {
		err = ask(cmd.Context(), reader)
	}
	if closing := store.Close(); err == nil && closing != nil {
		return failure{closing}
	}
	return judged(cmd, err)
}

// judged turns what came of a question into the program's error. One that is one already stays.
func judged(cmd *cobra.Command, err error) error {
	switch {
	case err == nil, errors.As(err, new(failure)), errors.As(err, new(answer)), isUsage(err):
		return err
	case cmd.Context().Err() != nil:
		return failure{fmt.Errorf("%s: stopped: %w", cmd.Name(), context.Cause(cmd.Context()))}
	}
	told := failure{fmt.Errorf("%s: %w", cmd.Name(), err)}
	switch {
	case errors.Is(err, retrieval.ErrMissing), errors.Is(err, retrieval.ErrNoResult), errors.As(err, new(*place.NoStoreError)):
		return answer{told, ExitMissing}
	case errors.Is(err, retrieval.ErrCorrupt), errors.Is(err, retrieval.ErrExport), errors.Is(err, retrieval.ErrReference), errors.Is(err, localstore.ErrDamaged):
		return answer{told, ExitDiffers}
	}
	return told
}

// isUsage tells an argument that cannot be from trouble with one that can.
func isUsage(err error) bool {
	return badAddress(err) || errors.As(err, new(*place.WhereError)) || errors.As(err, new(*redisstore.OptionError)) || errors.As(err, new(*canonical.NameError)) ||
		errors.Is(err, retrieval.ErrArgument) || errors.Is(err, retrieval.ErrCursor)
}

// document is what a question was answered with: JSON members for scripts, and text for people.
type document interface{ Text(*console.Console) }

// show prints a document.
func (s Streams) show(d document, output string) error {
	var err error
	if output == "json" {
		err = encode(s.Out, d)
	} else {
		out := s.console()
		d.Text(out)
		err = out.Err()
	}
	if err != nil {
		return failure{fmt.Errorf("the result could not be printed: %w", err)}
	}
	return nil
}

// call reads the arguments that name a call, and an evidence id in their place.
func call(args []string, id string) (records.Ask, error) {
	ask := records.Ask{EvidenceID: canonical.EvidenceID(id)}
	if len(args) > 0 {
		run, err := canonical.ParseRunID(args[0])
		if err != nil {
			return ask, err
		}
		ask.Run = run
	}
	switch {
	case id != "" && len(args) > 1:
		return ask, errors.New("a call is named by its run and name, or by --evidence")
	case id != "":
		return ask, canonical.CheckEvidenceID("evidence", ask.EvidenceID)
	case len(args) < 2:
		return ask, errors.New("which call? its run and name, as 'harness ls RUN' shows them, or --evidence ID")
	}
	name, err := records.ParseName(args[1])
	ask.Call = name
	return ask, err
}
