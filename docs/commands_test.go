//go:build !race

package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A command is a line of a document that begins aqrun or aqbench.
type command struct {
	line int
	args []string // without variables of the environment; the first is the program's name
}

// words are those of a command line: quoted, or without blanks.
var words = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// commandsOf returns the commands in the indented blocks of a document.
func commandsOf(text string) (all []command) {
	for i, line := range strings.Split(text, "\n") {
		line, indented := strings.CutPrefix(line, "    ")
		if !indented {
			continue
		}
		for _, end := range []string{" #", " | ", " > ", " 2>", " && ", " &", "; "} {
			line, _, _ = strings.Cut(line, end)
		}
		args := words.FindAllString(line, -1)
		for len(args) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(args[0]) {
			args = args[1:]
		}
		if len(args) == 0 {
			continue
		}
		for j := range args {
			args[j] = strings.Trim(args[j], `'"`)
		}
		if name := filepath.Base(args[0]); (name == "aqrun" || name == "aqbench") && len(args) > 1 {
			args[0] = name
			all = append(all, command{i + 1, args})
		}
	}
	return all
}

// refused says what is wrong with a command: an option or a verb that does not exist, or a program that make does not build.
func refused(c command) error {
	var args []string
	switch first := c.args[1]; {
	case c.args[0] == "aqbench" && !strings.HasPrefix(first, "-"):
		args = append(append(args, c.args[1:]...), "--help")
	case first == "conduits" || first == "top":
		args = []string{first, "--help"}
	default: // before the program's name
		args = append([]string{"--help"}, c.args[1:]...)
	}
	out, err := exec.Command(filepath.Join(bin, c.args[0]), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%q: %w: %s", args, err, out)
	}
	if first := args[0]; !strings.HasPrefix(first, "-") && !strings.Contains(string(out), c.args[0]+" "+first) {
		return fmt.Errorf("%s has no command %s", c.args[0], first)
	}
	for _, word := range c.args {
		name, below := strings.CutPrefix(word, "bin/")
		name, _, _ = strings.Cut(name, " ") // as in --launch-prefix
		if !below || strings.HasPrefix(name, "aqueduct") {
			continue
		}
		found := false
		for _, dir := range []string{"../cmd/", "../examples/", "../examples/tutorial/"} {
			if _, err := os.Stat(dir + name); err == nil {
				found = true
			}
		}
		if !found && name != "squares" && name != "crash" && name != "client" && name != "figures" { // which readers write
			return fmt.Errorf("there is no program %s", word)
		}
	}
	return nil
}

// TestCommands has aqrun and aqbench read the command lines of all documents.
func TestCommands(t *testing.T) {
	n := 0
	for _, file := range pages() {
		for _, c := range commandsOf(read(t, file)) {
			n++
			if err := refused(c); err != nil {
				t.Errorf("%s:%d: %v", file, c.line, err)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d commands were found", n)
	}
}

// TestCommandsRefuse shows that what does not exist is found.
func TestCommandsRefuse(t *testing.T) {
	for _, line := range []string{
		"    bin/aqrun -n 4 --no-such-option bin/ring",
		"    aqbench paper sci-short --no-such-option",
		"    X=1 bin/aqrun -n 4 bin/no-such-program 100  # a comment",
		"    bin/aqbench no-such-verb",
	} {
		all := commandsOf("text\n\n" + line + "\n")
		if len(all) != 1 || refused(all[0]) == nil {
			t.Errorf("%q was accepted: %v", line, all)
		}
	}
}

// TestMake looks for the targets that documents have readers make.
func TestMake(t *testing.T) {
	makefile := read(t, "../Makefile")
	for _, file := range append(pages(), "../CONTRIBUTING.md") {
		for _, m := range regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)").FindAllStringSubmatch(read(t, file), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", file, m[1])
			}
		}
	}
}
