package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/programs"
)

// TestCommandLine runs the program as a job of one on files of all kinds.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	prog := at("wordcount")
	if err := programs.Build(dir, "./examples/wordcount"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(at("folder/below"), 0o755),
		os.WriteFile(at("folder/a"), []byte("one two"), 0o644),
		os.WriteFile(at("folder/below/b"), []byte("Two three"), 0o644),
		os.Symlink("..", at("folder/below/round")), // not followed, or this would never end
		os.Symlink("nowhere", at("folder/broken")),
		unix.Mkfifo(at("folder/fifo"), 0o644), // not read, or this would wait for ever
		os.Symlink("folder", at("link")),
		os.Symlink("folder/a", at("file")),
		os.MkdirAll(at("empty"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--check folder", 0, "2 files, 16 bytes, 4 words, 3 different, on 1 ranks\n       2 two\n"},
		{"--check --top=1 link", 0, "2 files, 16 bytes, 4 words, 3 different, on 1 ranks\n       2 two\nthe sequential"},
		{"--check file folder/a", 0, "2 files, 14 bytes, 4 words, 2 different"},
		{"--check empty", 0, "0 files, 0 bytes"},
		{"--help", 0, "usage: wordcount [--check] [--top N] [file or folder...]"},
		{"folder/fifo", 1, "folder/fifo is neither a file nor a folder"},
		{"folder nowhere", 1, "nowhere: no such file"},
		{"folder/broken", 1, "folder/broken: no such file"},
		{"-check folder", 2, "usage: wordcount"},
		{"--top=-1 folder", 2, "--top must not be negative; usage: wordcount"},
		{"--top x folder", 2, "usage: wordcount"},
	} {
		cmd := exec.Command(prog, strings.Fields(c.args)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if x := (*exec.ExitError)(nil); err != nil && !errors.As(err, &x) {
			t.Fatal(err)
		}
		if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(string(out), c.says) {
			t.Errorf("wordcount %s: status %d; want %d and %q:\n%s", c.args, status, c.status, c.says, out)
		}
	}
}
