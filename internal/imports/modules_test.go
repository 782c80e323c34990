package imports

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/toolharness/harness/internal/vectors"
)

// moduleLimit is how many modules may stand in the graph of the root module,
// itself and the test dependencies of its dependencies counted. Whoever embeds
// the library takes this graph along; what is heavier lives in nested modules.
const moduleLimit = 35

func TestModule_graph_of_the_root_stays_small(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-m", "all")
	cmd.Dir = vectors.Root(t)
	cmd.Env = append(cmd.Environ(), "GOWORK=off") // the nested modules' graphs are their own business
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -m all: %v", err)
	}
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	t.Logf("%d modules, %d allowed", len(modules), moduleLimit)
	if modules[0] != vectors.Module {
		t.Fatalf("first module %q, want %q", modules[0], vectors.Module)
	}
	if len(modules) > moduleLimit {
		t.Errorf("%d modules, want at most %d:\n%s", len(modules), moduleLimit, out)
	}
}
