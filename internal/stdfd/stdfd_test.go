//go:build cgo

package stdfd_test

import (
	"errors"
	"fmt"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	_ "github.com/aqueduct-go/aqueduct/internal/stdfd"
	"golang.org/x/sys/unix"
)

// reportEnv names a file in which the test program, as a program of its own, tells what becomes of
// its standard descriptors.
const reportEnv = "AQ_STDFD_REPORT"

func TestMain(m *testing.M) {
	path := os.Getenv(reportEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	n, in := os.Stdin.Read(make([]byte, 1))
	_, out := fmt.Fprintln(os.Stdout, "output")
	_, errs := fmt.Fprintln(os.Stderr, "errors")
	text := fmt.Sprintf("input %v output %v errors %v\n", n > 0 || in != io.EOF, !errors.Is(out, unix.EBADF), !errors.Is(errs, unix.EBADF))
	if os.WriteFile(path, []byte(text), 0o600) != nil {
		os.Exit(1)
	}
}

// TestPrograms holds every program of cmd/ to the package.
func TestPrograms(t *testing.T) {
	dirs, err := filepath.Glob("../../cmd/*")
	if err != nil || len(dirs) < 3 {
		t.Fatalf("%q, %v", dirs, err)
	}
	for _, dir := range dirs {
		pkg, err := build.ImportDir(dir, 0)
		if err != nil || !slices.Contains(pkg.Imports, "github.com/aqueduct-go/aqueduct/internal/stdfd") {
			t.Errorf("%s does not import the package: its output is lost in silence where standard output is closed (%v)", dir, err)
		}
	}
}

// TestClosed starts a program with descriptors closed: they give no input, and take no output.
func TestClosed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for closing, want := range map[string]string{
		"":                "input true output true errors true\n",
		"<&-":             "input false output true errors true\n",
		">&-":             "input true output false errors true\n",
		"2>&-":            "input true output true errors false\n",
		"<&- >&- 2>&-":    "input false output false errors false\n",
		"<&- 2>&-":        "input false output true errors false\n",
		">/dev/null 2>&-": "input true output true errors false\n",
		"1<>/dev/null":    "input true output true errors true\n", // as many programs give it to others
	} {
		path := filepath.Join(t.TempDir(), "report")
		cmd := exec.Command("sh", "-c", `echo x | "$0" `+closing, self)
		cmd.Env = append(os.Environ(), reportEnv+"="+path)
		out, err := cmd.CombinedOutput()
		if got, _ := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q: %v, %q, want %q\n%s", closing, err, got, want, out)
		}
	}
}
