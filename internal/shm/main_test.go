package shm

import (
	"os"
	"os/exec"
	"testing"
)

// A test that needs a second process runs this binary again with the name of a role in
// the environment and descriptors 3 and up as its inheritance.
const roleVariable = "AQ_SHM_TEST_ROLE"

var roles = map[string]func() error{}

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		if err := roles[role](); err != nil {
			os.Stderr.WriteString(role + ": " + err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start runs a role in another process; the result waits for its end. The descriptors
// stay the caller's.
func start(t *testing.T, role string, fds ...int) (wait func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	for _, fd := range fds {
		dup := os.NewFile(uintptr(dupFD(t, fd)), "inherited")
		defer dup.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, dup)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Errorf("role %s: %v", role, err)
		}
	}
}
