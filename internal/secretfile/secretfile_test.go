package secretfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/secretfile"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := secretfile.Read(path, 6); string(b) != "secret" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := secretfile.Read(path, 5); err == nil || !strings.Contains(err.Error(), "6 bytes") {
		t.Errorf("too long: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := secretfile.Read(path, 6); err == nil || !strings.Contains(err.Error(), "0640") {
		t.Errorf("a secret that a group may read: %v", err)
	}
}

// The mode does not count where the file system is read-only: what an orchestrator mounts, the program cannot change.
func TestReadOnlyMount(t *testing.T) {
	if os.Getenv("SECRETFILE_TEST_READ") != "" {
		if _, err := secretfile.Read(os.Getenv("SECRETFILE_TEST_READ"), 6); err != nil {
			t.Error(err)
		}
		return
	}
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("needs root that may mount: unshare --mount: %v", err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(path, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec "$0" -test.run 'TestReadOnlyMount$'`, os.Args[0], dir)
	cmd.Env = append(os.Environ(), "SECRETFILE_TEST_READ="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
