package seal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	path, second := filepath.Join(dir, "key"), filepath.Join(dir, "second")
	for _, p := range []string{path, second} {
		if err := seal.WriteKey(p); err != nil {
			t.Fatal(err)
		}
	}
	k, err := seal.ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := seal.ReadKey(path); err != nil || again != k {
		t.Errorf("read again it is another key, or %v", err)
	}
	if other, err := seal.ReadKey(second); err != nil || other == k || k == (seal.Key{}) {
		t.Errorf("keys are not random, or %v", err)
	}
	if err := seal.WriteKey(path); err == nil {
		t.Error("a key was overwritten")
	}
	for mode := os.FileMode(1); mode <= 0o077; mode <<= 1 {
		if err := os.Chmod(path, 0o600|mode); err != nil {
			t.Fatal(err)
		}
		if _, err := seal.ReadKey(path); err == nil || !strings.Contains(err.Error(), "others") {
			t.Errorf("mode %v: %v", 0o600|mode, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if again, err := seal.ReadKey(path); err != nil || again != k {
		t.Errorf("mode 0400: %v", err)
	}
}

func TestKeyFileRefused(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"empty": 0, "short": seal.KeySize - 1, "long": seal.KeySize + 1} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 { // only root can give a file away
		path := filepath.Join(dir, "foreign")
		if err := seal.WriteKey(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 1, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := seal.ReadKey(path); err == nil || !strings.Contains(err.Error(), "belongs to user 1") {
			t.Errorf("a file of another user: %v", err)
		}
	}
	for name, want := range map[string]string{
		"empty": "0 bytes", "short": "31 bytes", "long": "33 bytes", "pipe": "no ordinary file", "absent": "no such file", ".": "no ordinary file",
	} {
		if _, err := seal.ReadKey(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
