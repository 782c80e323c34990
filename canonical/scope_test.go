package canonical_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
)

// lengthPrefixed is the digest as a second implementation would make it.
func lengthPrefixed(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestScope_digest_is_injective(t *testing.T) {
	t.Parallel()
	parts := []string{"", "a", "b", "ab", "abc", "bc", "c", "A", "a ", " a", "\x00", "a\x00", "\x00a", "a:b", ":", "é", "e\u0301",
		"\x00\x00\x00\x00\x00\x00\x00\x01a", strings.Repeat("x", 256)}
	seen := map[string]canonical.Scope{}
	for _, tenant := range parts {
		for _, owner := range parts {
			for _, namespace := range parts {
				s := canonical.Scope{Tenant: tenant, Owner: owner, Namespace: namespace}
				digest := s.Digest()
				if other, twice := seen[digest]; twice {
					t.Fatalf("%+v and %+v have one digest", s, other)
				}
				seen[digest] = s
				if len(digest) != 32 || digest != lengthPrefixed(tenant, owner, namespace)[:32] {
					t.Fatalf("%+v: digest %q, want 32 of %q", s, digest, lengthPrefixed(tenant, owner, namespace))
				}
			}
		}
	}
	if want := len(parts) * len(parts) * len(parts); len(seen) != want {
		t.Errorf("%d digests of %d scopes", len(seen), want)
	}
}

func TestScope_validate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 128) // 256 bytes
	for _, c := range []struct {
		scope canonical.Scope
		field string // empty: valid
	}{
		{canonical.Scope{Tenant: "t"}, ""}, {canonical.Scope{Owner: "o"}, ""}, {canonical.Scope{Namespace: "n"}, ""},
		{canonical.Scope{Tenant: " "}, ""}, {canonical.Scope{Tenant: "a\nb{}*"}, ""}, {canonical.Scope{Tenant: long, Owner: long, Namespace: long}, ""},
		{canonical.Scope{}, "scope"},
		{canonical.Scope{Tenant: long + "x"}, "scope.tenant"}, {canonical.Scope{Owner: long + "x"}, "scope.owner"}, {canonical.Scope{Namespace: long + "x"}, "scope.namespace"},
		{canonical.Scope{Tenant: "a\xff"}, "scope.tenant"}, {canonical.Scope{Owner: "\xed\xa0\x80"}, "scope.owner"}, {canonical.Scope{Namespace: "\xc0\x80"}, "scope.namespace"},
	} {
		err := c.scope.Validate()
		if bad, ok := errors.AsType[*canonical.NameError](err); c.field == "" && err != nil || c.field != "" && (!ok || bad.Field != c.field) {
			t.Errorf("%.60q: %v, want %q", c.scope, err, c.field)
		}
		if bad, ok := errors.AsType[*canonical.NameError](err); ok && bad.Limit > 0 && (bad.Limit != 256 || bad.Size != 257) {
			t.Errorf("%v, want 257 and limit 256", err)
		}
	}
}

func TestPrincipal_validate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	if err := (canonical.Principal{}).Validate(); err != nil {
		t.Errorf("an empty principal: %v", err)
	}
	if err := (canonical.Principal{User: long, Account: long, Agent: long, Connector: long}).Validate(); err != nil {
		t.Errorf("a principal at the limit: %v", err)
	}
	for _, bad := range []string{long + "x", "\xff"} {
		for field, p := range map[string]canonical.Principal{
			"principal.user": {User: bad}, "principal.account": {Account: bad}, "principal.agent": {Agent: bad}, "principal.connector": {Connector: bad},
		} {
			if got, ok := errors.AsType[*canonical.NameError](p.Validate()); !ok || got.Field != field {
				t.Errorf("%s: %v", field, p.Validate())
			}
		}
	}
}

func TestRunKey_validate(t *testing.T) {
	t.Parallel()
	good := canonical.Scope{Tenant: "t"}
	for _, c := range []struct {
		key   canonical.RunKey
		field string
	}{
		{canonical.RunKey{Scope: good, Run: "r"}, ""}, {canonical.RunKey{Run: "r"}, "scope"}, {canonical.RunKey{Scope: good}, "run_id"}, {canonical.RunKey{Scope: good, Run: "a:b"}, "run_id"},
	} {
		err := c.key.Validate()
		if bad, ok := errors.AsType[*canonical.NameError](err); c.field == "" && err != nil || c.field != "" && (!ok || bad.Field != c.field) {
			t.Errorf("%+v: %v, want %q", c.key, err, c.field)
		}
	}
}

func someCall() canonical.Identity {
	return canonical.Identity{
		RunKey: canonical.RunKey{Scope: canonical.Scope{Tenant: "acme", Owner: "o", Namespace: "n"}, Run: "r1"},
		Call:   canonical.CallName{Turn: "2", ID: "call_a"},
	}
}

const askOtherProcess = "-canonical-print-operation-key"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == askOtherProcess {
		os.Stdout.WriteString(someCall().OperationKey([]byte(`{"a":1}`)))
		return
	}
	os.Exit(m.Run())
}

func TestOperationKey(t *testing.T) {
	t.Parallel()
	request := []byte(`{"a":1}`)
	key := someCall().OperationKey(request)
	t.Run("P42_equal_in_two_processes", func(t *testing.T) {
		t.Parallel()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(self, askOtherProcess).Output()
		if err != nil || string(out) != key {
			t.Errorf("another process says %q, %v, want %q", out, err, key)
		}
		if want := lengthPrefixed("acme", "o", "n", "r1", "2", "call_a", `{"a":1}`); key != want {
			t.Errorf("key %q, want %q", key, want)
		}
	})
	t.Run("P42_another_for_anything_else", func(t *testing.T) {
		t.Parallel()
		seen := map[string]string{key: "the call itself"}
		for name, change := range map[string]func(*canonical.Identity){
			"tenant":         func(id *canonical.Identity) { id.Scope.Tenant = "acm" },
			"owner":          func(id *canonical.Identity) { id.Scope.Owner = "eo" },
			"namespace":      func(id *canonical.Identity) { id.Scope.Namespace = "N" },
			"run":            func(id *canonical.Identity) { id.Run = "r12" },
			"turn":           func(id *canonical.Identity) { id.Call.Turn = "" },
			"another turn":   func(id *canonical.Identity) { id.Call.Turn = "3" },
			"id":             func(id *canonical.Identity) { id.Call.ID = "call_A" },
			"turn into id":   func(id *canonical.Identity) { id.Call = canonical.CallName{ID: "2call_a"} },
			"run into turn":  func(id *canonical.Identity) { id.Run, id.Call.Turn = "r", "12" },
			"owner into run": func(id *canonical.Identity) { id.Scope.Owner, id.Scope.Namespace = "on", "" },
		} {
			id := someCall()
			change(&id)
			got := id.OperationKey(request)
			if other, twice := seen[got]; twice {
				t.Errorf("%s: the key of %s", name, other)
			}
			seen[got] = name
		}
		for _, bytes := range []string{`{"a": 1}`, `{"a":1}` + "\n", `{"a":1.0}`, `{}`, ``} {
			got := someCall().OperationKey([]byte(bytes))
			if other, twice := seen[got]; twice {
				t.Errorf("%q: the key of %s", bytes, other)
			}
			seen[got] = bytes
		}
	})
}
