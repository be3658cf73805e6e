package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/internal/programs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// install builds the programs, and installs them below $DESTDIR as make install does. It returns the prefix as it is below that.
func install(t *testing.T, destdir, prefix string) string {
	t.Helper()
	built := t.TempDir()
	shims, err := filepath.Glob(filepath.Join(os.Getenv("AQUEDUCT_LIBDIR"), "libaqueduct-mpi-*.so"))
	if err != nil {
		t.Fatal(err)
	}
	if err := programs.Build(built, "./cmd/..."); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		append([]string{"cp", "-t", built, "install_test.go"}, shims...), // a file more, as there may be no shim
		{"env", "DESTDIR=" + destdir, "sh", "../../scripts/install.sh", built, prefix},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
	return filepath.Join(destdir, prefix)
}

// files returns the names of all files below a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What is installed works without an environment variable: jobs over MPI, man pages, completion. What was installed can be
// removed, and nothing else is.
func TestInstalled(t *testing.T) {
	destdir := t.TempDir()
	at := install(t, destdir, "/opt/aqueduct")
	for _, name := range files(t, destdir) {
		if !strings.HasPrefix(name, at+"/") {
			t.Errorf("%s is outside of the prefix", name)
		}
	}
	t.Run("mpi", func(t *testing.T) { installedMPI(t, at) })
	t.Run("man", func(t *testing.T) { installedPages(t, at) })
	t.Run("bash", func(t *testing.T) { installedCompletion(t, at) })
	t.Run("others", func(t *testing.T) { installedOthers(t, at) })

	foreign := filepath.Join(at, "bin", "foreign")
	if err := os.WriteFile(foreign, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "../../scripts/uninstall.sh", "/opt/aqueduct")
	cmd.Env = append(os.Environ(), "DESTDIR="+destdir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left := files(t, destdir); !slices.Equal(left, []string{foreign}) {
		t.Errorf("left are %q", left)
	}
	if _, err := os.Stat(filepath.Join(at, "share")); err == nil {
		t.Error("an empty folder is left")
	}
}

// installedMPI has aqrun find the shims beside itself: in ../lib/aqueduct.
func installedMPI(t *testing.T, at string) {
	usable := false
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) {
			libmpitest.Launcher(t, library)
			usable = true
		})
	}
	if !usable {
		t.Skip("needs an MPI library")
	}
	cmd := exec.Command(filepath.Join(at, "bin", "aqrun"), "--mpi", "auto", "-n", "2", self(t))
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "AQUEDUCT_LIBDIR=") })
	cmd.Env = append(cmd.Env, roleEnv+"=barrier")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if out, err := cmd.Output(); err != nil || string(out) != "mpi\n" {
		t.Errorf("%v: %q\n%s", err, out, &errs)
	}
}

// backslashed are the marks of roff within a line.
var backslashed = regexp.MustCompile(`\\f[BIRP]|\\&|\\`)

// installedPages looks into the page of aqrun: every option is there, in bold, under the heading of its group; and has man format it.
func installedPages(t *testing.T, at string) {
	pages := filepath.Join(at, "share", "man")
	text, err := os.ReadFile(filepath.Join(pages, "man1", "aqrun.1"))
	if err != nil {
		t.Fatal(err)
	}
	plain := backslashed.ReplaceAllString(string(text), "")
	for _, heading := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "THE JOB", "HOSTS", "VIRTUAL TIME", "OUTPUT", "THE END", "SEE ALSO"} {
		if !strings.Contains(plain, "\n.SH "+heading+"\n") {
			t.Errorf("no heading %s", heading)
		}
	}
	root().Flags().VisitAll(func(f *pflag.Flag) {
		if !regexp.MustCompile(`(?m)^(-., )?--` + f.Name + `( |$)`).MatchString(plain) {
			t.Errorf("no --%s", f.Name)
		}
	})
	for _, c := range root().Commands() {
		page, heading := "man1/aqrun-"+c.Name()+".1", "SYNOPSIS"
		if !c.Runnable() {
			page, heading = "man7/aqrun-"+c.Name()+".7", "DESCRIPTION"
		}
		text, err := os.ReadFile(filepath.Join(pages, page))
		if c.Hidden != (err != nil) || err == nil && !bytes.Contains(text, []byte(".SH "+heading)) {
			t.Errorf("%s: %v\n%s", page, err, text)
		}
	}
	if _, err := exec.LookPath("man"); err != nil {
		return // the above has looked at what man would format
	}
	for _, page := range []string{"man1/aqrun.1", "man1/aqbench-paper.1", "man1/aqimpair.1", "man7/aqrun-failure.7"} {
		cmd := exec.Command("man", "--warnings", "-l", filepath.Join(pages, page))
		cmd.Env = append(os.Environ(), "MANPAGER=cat", "LC_ALL=C.UTF-8")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if out, err := cmd.Output(); err != nil || errs.Len() > 0 || !bytes.Contains(out, []byte("NAME")) {
			t.Errorf("%s: %v: %s%s", page, err, &errs, out)
		}
	}
}

// completed is a script for bash: it completes the last of its arguments behind the first, the file that defines how, and prints what that
// can be. The function that bash-completion has for preparing the words is there in a short form, as that package may not be.
const completed = `
. "$1"
_init_completion() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}; }
compopt() { :; }
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
"__start_$(basename "$1")"
printf '%s\n' "${COMPREPLY[@]}"
`

// installedCompletion completes command lines in bash by the scripts that are installed.
func installedCompletion(t *testing.T, at string) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	for _, c := range []struct {
		line  string // the last word is being typed
		has   string
		hasnt string
	}{
		{"aqrun con", "conduits", "NAME"},
		{"aqrun help ho", "hosts", "conduits"},
		{"aqrun conduits sc", "sci", "udp"},
		{"aqrun -n 2 --conduit u", "udp", "sci"},
		{"aqrun --conduit loopback --profile ", "native", "paper"},
		{"aqrun --model sci/d", "sci/d339", "loopback/native"},
		{"aqrun --conduit udp --set win", "window=", "depth="},
		{"aqrun --bind-to ", "socket", "sci"},
		{"aqrun --mpi open", "openmpi", "mpich"},
		{"aqrun --host-t", "--host-timeout", "--host"},
		{"aqrun -n 2 conduits ", "", "sci"},         // a program of that name
		{"aqrun -n 2 prog --cond", "", "--conduit"}, // an option of a program
		{"aqrun --host ", "", "sci"},
		{"aqbench sc", "schedule", "sim"},
		{"aqbench am --op ping", "pingpong", "flood"},
		{"aqbench am --op flood,ping", "flood,pingpong", ""},
		{"aqbench paper am2-l", "am2-latency", "all"},
		{"aqbench rma --format js", "json", "osu"},
		{"aqimpair --link los", "loss=", "delay="},
	} {
		words := strings.Split(c.line, " ")
		script := filepath.Join(at, "share", "bash-completion", "completions", words[0])
		words[0] = filepath.Join(at, "bin", words[0])
		cmd := exec.Command(bash, append([]string{"-c", completed, "bash", script}, words...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		var found []string
		for line := range strings.Lines(string(out)) {
			if word, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(line), `\`, ""), " "); word != "" {
				found = append(found, word)
			}
		}
		if err != nil || errs.Len() > 0 || c.has != "" && !slices.Contains(found, c.has) || c.hasnt != "" && slices.Contains(found, c.hasnt) {
			t.Errorf("%q: %v, %q\n%s", c.line, err, found, &errs)
		}
	}
}

// installedOthers looks into the scripts for zsh and fish, and has those of the two shells that are installed use them.
func installedOthers(t *testing.T, at string) {
	zsh, fish := filepath.Join(at, "share", "zsh", "site-functions"), filepath.Join(at, "share", "fish", "vendor_completions.d")
	for _, program := range []string{"aqrun", "aqbench", "aqimpair"} {
		for _, c := range []struct{ shell, file, says, script, prints string }{
			{"zsh", filepath.Join(zsh, "_"+program), "#compdef " + program + "\n", "fpath=(" + zsh + "); autoload -U +X _" + program + " && print loaded", "loaded\n"},
			{"fish", filepath.Join(fish, program+".fish"), "complete -c " + program + " ", "source " + filepath.Join(fish, program+".fish") + "; complete -C '" + program + " completion ba'", "bash"},
		} {
			text, err := os.ReadFile(c.file)
			if err != nil || !strings.Contains(string(text), c.says) {
				t.Errorf("%s: %v, no %q", c.file, err, c.says)
			}
			argv := map[string][]string{"zsh": {"zsh", "-f", "-c", c.script}, "fish": {"fish", "--no-config", "-c", c.script}}[c.shell]
			if _, err := exec.LookPath(c.shell); err != nil {
				continue // the above has looked at what it would read
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = append(os.Environ(), "PATH="+filepath.Join(at, "bin")+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), c.prints) {
				t.Errorf("%s of %s: %v: %q", c.shell, program, err, out)
			}
		}
	}
}

// Every option says whether a shell completes it to something known, to a directory, or to nothing; the rest are files.
func TestCompletionOfFiles(t *testing.T) {
	cmd := root()
	known := []string{"hostfile", "key-file", "agent", "trace", "launch-prefix"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, completes := cmd.GetFlagCompletionFunc(f.Name)
		_, dir := f.Annotations[cobra.BashCompSubdirsInDir]
		if f.NoOptDefVal == "" && !completes && !dir && !slices.Contains(known, f.Name) {
			t.Errorf("--%s is completed to files", f.Name)
		}
	})
}
