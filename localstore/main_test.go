package localstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable makes this test binary one of the processes of a test. Its value is
// the role.
const roleVariable = "LOCALSTORE_TEST_ROLE"

// roles read orders from standard input until it ends, and write answers to
// standard output, each in one write.
var roles = map[string]func(orders *json.Decoder, answers *json.Encoder) error{
	"work":  workRole,
	"hold":  holdRole,
	"small": smallDiskRole,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := roles[role](json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "localstore test process:", err)
		os.Exit(1)
	}
}

// process is another process of this test. It ends with its input.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *json.Encoder
	out *json.Decoder
}

func start(t *testing.T, role string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{t: t, cmd: cmd, in: in, to: json.NewEncoder(in), out: json.NewDecoder(out)}
}

func (p *process) send(order any) {
	p.t.Helper()
	if err := p.to.Encode(order); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) receive(answer any) {
	p.t.Helper()
	if err := p.out.Decode(answer); err != nil {
		p.t.Fatal(err)
	}
}

// leave ends the process by its input.
func (p *process) leave() {
	p.t.Helper()
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the other process: %v", err)
	}
}

// kill ends it with SIGKILL. What it wrote before can still be received.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
}
