package page_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// axe-core looks for what readers who do not see, or do not use a mouse, stumble over. It is under MPL 2.0, and is fetched
// by tests alone.
const (
	axeVersion = "4.14.1"
	axeSum     = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
)

// axeCore returns the script, which npm fetches into the user's cache when it is first needed.
func axeCore(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "aqueduct-test")
	path := filepath.Join(dir, "axe-core-"+axeVersion+".min.js")
	if text, err := os.ReadFile(path); err == nil && fmt.Sprintf("%x", sha256.Sum256(text)) == axeSum {
		return string(text)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("axe-core cannot be fetched: npm is not installed")
	}
	pack := exec.CommandContext(t.Context(), "npm", "pack", "--silent", "axe-core@"+axeVersion)
	pack.Dir = t.TempDir()
	if out, err := pack.CombinedOutput(); err != nil {
		t.Skipf("axe-core cannot be fetched: %v: %s", err, out)
	}
	text, err := member(filepath.Join(pack.Dir, "axe-core-"+axeVersion+".tgz"), "package/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != axeSum {
		t.Fatalf("axe-core %s has the checksum %s, want %s", axeVersion, got, axeSum)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// member returns a file of a compressed archive.
func member(archive, name string) ([]byte, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", archive, name, err)
		}
		if h.Name == name {
			return io.ReadAll(r)
		}
	}
}
