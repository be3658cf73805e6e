package shm

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const identityEnv = "SHM_TEST_HOST_IDENTITY"

// A process has the identity of another unless one has a namespace or a /dev/shm of its own.
func TestHostIdentity(t *testing.T) {
	if os.Getenv(identityEnv) != "" {
		id, err := HostIdentity()
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("identity " + id + "\n")
		return
	}
	own, err := HostIdentity()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		through []string
		same    bool
	}{
		{[]string{"env"}, true},
		{[]string{"unshare", "--ipc"}, false},
		{[]string{"unshare", "--mount"}, false},
		{[]string{"unshare", "--net"}, false},
		{[]string{"unshare", "--user"}, false},
		{[]string{"unshare", "--pid", "--fork", "--mount-proc"}, false},
	} {
		if !c.same && exec.Command(c.through[0], append(c.through[1:], "true")...).Run() != nil {
			t.Logf("%q: not permitted here", c.through)
			continue
		}
		cmd := exec.Command(c.through[0], append(c.through[1:], exe, "-test.run=^TestHostIdentity$")...)
		cmd.Env = append(os.Environ(), identityEnv+"=1")
		out, err := cmd.Output()
		_, id, ok := strings.Cut(string(out), "identity ")
		id, _, _ = strings.Cut(id, "\n")
		if err != nil || !ok || (id == own) != c.same {
			t.Errorf("%q: identity %q (%v), own %q", c.through, id, err, own)
		}
	}
}
