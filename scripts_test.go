package aqueduct_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// toolbox is a folder of commands, the only one in PATH.
type toolbox string

func newToolbox(t *testing.T, tools ...string) toolbox {
	t.Helper()
	box := toolbox(t.TempDir())
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		if err == nil {
			err = os.Symlink(path, filepath.Join(string(box), tool))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return box
}

// script adds a command.
func (b toolbox) script(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(b), name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestSetup runs scripts/setup.sh on machines that lack things.
func TestSetup(t *testing.T) {
	const (
		good   = "echo go1.99.0"
		noRoot = "echo 1000"
		root   = "echo 0"
	)
	for name, c := range map[string]struct {
		tools  map[string]string
		status int
		says   string
	}{
		"all there":         {map[string]string{"go": good, "gcc": "", "id": root}, 0, ""},
		"apt-get fails":     {map[string]string{"go": good, "id": root, "apt-get": "exit 100"}, 0, "apt-get update && apt-get install"},
		"apt-get succeeds":  {map[string]string{"go": good, "id": root, "apt-get": `/bin/ln -sf /bin/true "$PATH/gcc"`}, 0, "No C compiler: installing one"},
		"update fails only": {map[string]string{"go": good, "id": root, "apt-get": `[ "$1" = install ] && /bin/ln -s /bin/true "$PATH/gcc"`}, 0, "No C compiler: installing one"},
		"not root":          {map[string]string{"go": good, "id": noRoot, "apt-get": "exit 100"}, 0, "sudo apt-get install"},
		"no apt-get":        {map[string]string{"go": good, "id": root}, 0, "To install one"},
		"no Go":             {map[string]string{"gcc": ""}, 1, "was not found"},
		"old Go":            {map[string]string{"go": "echo go1.9.7", "gcc": ""}, 1, "or newer is needed; this is go1.9.7"},
		"Go cannot fetch":   {map[string]string{"go": `[ "$1" = version ] && echo go1.22`, "gcc": ""}, 1, "this is go1.22"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newToolbox(t, "sh", "sed", "uname", "sort", "head")
			for tool, text := range c.tools {
				box.script(t, tool, text)
			}
			cmd := exec.Command("sh", "scripts/setup.sh")
			cmd.Env = []string{"PATH=" + string(box)}
			status, out, errs := finish(t, cmd)
			if out += errs; status != c.status || !strings.Contains(out, c.says) || c.says == "" && out != "" {
				t.Errorf("status %d, %q; want %d and %q", status, out, c.status, c.says)
			}
		})
	}
}

// TestMPIRun runs scripts/mpi-run.sh where some of the libraries are usable, and one job fails.
func TestMPIRun(t *testing.T) {
	for usable, c := range map[string]struct {
		status int
		runs   string // library and program, of each job in turn
	}{
		"none":          {0, ""},
		"mpich":         {0, "mpich ring 1000, mpich mpimix, "},
		"openmpi mpich": {0, "openmpi ring 1000, openmpi mpimix, mpich ring 1000, mpich mpimix, "},
		"fails":         {3, "openmpi ring 1000, "},
	} {
		box := newToolbox(t, "sh")
		box.script(t, "aqrun", `
library=$2
case "`+usable+`" in *$library* | fails) ;; *) exit 2 ;; esac
[ "$1 $3 $4" = "--mpi -n 3" ] || exit 9
[ "$5" = --dry-run ] && exit
shift 4
echo "runs $library $*"
[ "`+usable+`" != fails ] || exit 3`)
		cmd := exec.Command("sh", "scripts/mpi-run.sh", string(box), "3")
		cmd.Env = []string{"PATH=" + string(box)}
		status, out, errs := finish(t, cmd)
		var runs strings.Builder
		for line := range strings.Lines(out) {
			if job, ok := strings.CutPrefix(line, "runs "); ok {
				runs.WriteString(strings.TrimSpace(strings.ReplaceAll(job, string(box)+"/", "")) + ", ")
			}
		}
		if status != c.status || runs.String() != c.runs || errs != "" || c.runs == "" && out != "" {
			t.Errorf("%s: status %d, want %d; runs %q, want %q\n%s%s", usable, status, c.status, runs.String(), c.runs, out, errs)
		}
	}
}

// testsum returns the command scripts/testsum with the script in place of the go command.
func testsum(t *testing.T, text string, env ...string) *exec.Cmd {
	t.Helper()
	box := newToolbox(t)
	box.script(t, "go", text)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, goBuild(t, "./scripts/testsum"), "./...")
	cmd.Env = append(append(os.Environ(), "GO="+filepath.Join(string(box), "go")), env...)
	return cmd
}

// TestSumStreams looks at what is printed while the tests go on.
func TestSumStreams(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "go-on")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	goOn, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer goOn.Close()
	cmd := testsum(t, `
echo '{"Action":"pass","Package":"x/first","Elapsed":1}'
read line <"`+fifo+`"
echo '{"Action":"pass","Package":"x/second","Elapsed":1}'`)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(stdout)
	if line, err := in.ReadString('\n'); !strings.Contains(line, "x/first") {
		t.Errorf("the first line is %q, %v; want the first package", line, err)
	}
	fmt.Fprintln(goOn, "go on")
	if line, err := in.ReadString('\n'); !strings.Contains(line, "x/second") {
		t.Errorf("the second line is %q, %v; want the second package", line, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSumVerdict checks the exit status and the end of the report.
func TestSumVerdict(t *testing.T) {
	const skip = `cat <<'.'
{"Action":"output","Package":"x/y","Test":"TestA","Output":"    a_test.go:7: needs root, or a GPU\n"}
{"Action":"skip","Package":"x/y","Test":"TestA"}
{"Action":"output","Package":"x/y","Test":"TestB","Output":"    run.go:7: runs 3 of 40 combinations\n"}
{"Action":"pass","Package":"x/y","Test":"TestB"}
{"Action":"pass","Package":"x/y"}
.`
	const fail = `cat <<'.'
{"Action":"output","Package":"x/y","Test":"TestA","Output":"    a_test.go:7: wrong\n"}
{"Action":"fail","Package":"x/y","Test":"TestA"}
{"Action":"fail","Package":"x/y"}
.
exit 1`
	for _, c := range []struct {
		text, require string
		status        int
		says          []string
	}{
		{skip, "", 0, []string{"1 × needs root, or a GPU, e.g. y TestA", "suites: 3 of 40 combinations", "1 passed, 0 failed, 1 skipped"}},
		{skip, "roo,oot,needs r,gpu", 0, []string{"1 skipped"}},
		{skip, "nothing, root", 1, []string{"required here", "1 passed, 1 failed, 0 skipped"}},
		{skip, "GPU", 1, []string{"required here"}},
		{skip, "needs root", 1, []string{"required here"}},
		{skip, "a.GPU", 0, []string{"1 skipped"}},
		{fail, "", 1, []string{"FAIL  x/y TestA\n    a_test.go:7: wrong", "0 passed, 1 failed, 0 skipped"}},
		{"echo nonsense", "", 1, []string{"not the output of go test"}},
		{"exit 1", "", 1, nil},
		{`echo '{"Action":"fail","Package":"x/y"}'; exit 1`, "", 1, []string{"fail  x/y", "1 failed"}},
	} {
		status, out, errs := finish(t, testsum(t, c.text, "AQ_REQUIRE="+c.require))
		for _, want := range c.says {
			if out := out + errs; !strings.Contains(out, want) {
				t.Errorf("AQ_REQUIRE=%q: %q not in the report:\n%s", c.require, want, out)
			}
		}
		if status != c.status {
			t.Errorf("AQ_REQUIRE=%q: status %d, want %d:\n%s", c.require, status, c.status, out)
		}
	}
}
