package cli

import (
	"bytes"
	"errors"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// tree is a program prog with a command and a topic, which notes what it is called with.
func tree(called *[]string) *cobra.Command {
	note := func(cmd *cobra.Command, args []string) error {
		*called = append([]string{cmd.CommandPath()}, args...)
		return nil
	}
	root := &cobra.Command{Use: "prog [option...] PROGRAM", Short: "start a program", RunE: note}
	root.Flags().SetInterspersed(false)
	Group(root.Flags(), "The job", func(fs *pflag.FlagSet) {
		fs.IntP("np", "n", 0, "number of ranks, `N`")
		fs.Bool("verbose", false, "say more")
		fs.StringArray("set", nil, "`KEY=VALUE`; repeatable")
	})
	root.AddCommand(&cobra.Command{Use: "list", Short: "list things", RunE: note}, &cobra.Command{Use: "hosts", Short: "about hosts", Long: "Hosts are many."})
	Program(root, nil, func() string { return "prog 1\n" })
	return root
}

// A command is nothing but the first word, a topic none; what follows an operand is no option.
func TestExecute(t *testing.T) {
	for line, want := range map[string]string{
		"list a b":                "prog list|a|b",
		"-n 2 list":               "prog|list",
		"-- list":                 "prog|list",
		"./list":                  "prog|./list",
		"hosts -n 2":              "prog|hosts|-n|2",
		"a --np=x --help":         "prog|a|--np=x|--help",
		"-n 2 -n 2 a":             "prog|a",
		"--set a=1 --set b=2 a":   "prog|a",
		"-n 2 __complete list":    "prog|__complete|list",
		"-n 2 completion bash":    "prog|completion|bash",
		"list -- --help":          "prog list|--help",
		"--verbose=false version": "prog|version",
	} {
		var called []string
		var out bytes.Buffer
		_, err := Execute(t.Context(), tree(&called), strings.Fields(line), &out, &out)
		if err != nil || strings.Join(called, "|") != want || out.Len() > 0 {
			t.Errorf("%s: %v, %q, want %q; %s", line, err, called, want, &out)
		}
	}
}

// Misuse is returned, and nothing is printed, called or guessed.
func TestMisuse(t *testing.T) {
	for line, says := range map[string]string{
		"--fly":           "unknown flag: --fly",
		"-n x a":          "want a whole number",
		"-n 2 -n 3 a":     `given before as "2"`,
		"-verbose a":      "-verbose is spelt --verbose",
		"--verbose=2 a":   "want true or false",
		"list --np 2":     "unknown flag: --np",
		"help nothing":    `no help about "nothing"`,
		"version 2":       "unexpected argument",
		"completion":      "want one shell: bash, fish, zsh",
		"completion tcsh": "want one shell: bash, fish, zsh",
		"man":             "want the folder",
	} {
		var called []string
		var out bytes.Buffer
		_, err := Execute(t.Context(), tree(&called), strings.Fields(line), &out, &out)
		if !errors.As(err, new(Misuse)) || !strings.Contains(err.Error(), says) || called != nil || out.Len() > 0 {
			t.Errorf("%s: %v, want %q; called %q; %s", line, err, says, called, &out)
		}
	}
}

// Help is of the command, or the topic, that it is asked of, and goes to standard output.
func TestHelp(t *testing.T) {
	for line, wants := range map[string][]string{
		"-h":         {"Usage: prog [option...] PROGRAM\n", "\nThe job:\n  -n, --np N ", "\nCommands:\n", "  list ", "\nTopics, prog help TOPIC:\n  hosts ", "\nOther options:\n"},
		"help":       {"Usage: prog [option...] PROGRAM\n"},
		"list -h":    {"Usage: prog list\n", "List things.", "\nOptions:\n"},
		"help list":  {"Usage: prog list\n"},
		"help hosts": {"Hosts are many.\n"},
		"--version":  {"prog 1\n"},
		"version":    {"prog 1\n"},
	} {
		var called []string
		var out, errs bytes.Buffer
		_, err := Execute(t.Context(), tree(&called), strings.Fields(line), &out, &errs)
		for _, want := range wants {
			if err != nil || called != nil || errs.Len() > 0 || !strings.Contains(out.String(), want) {
				t.Errorf("%s: %v, called %q, no %q in\n%s%s", line, err, called, want, &out, &errs)
			}
		}
		if _, err := Execute(t.Context(), tree(&called), strings.Fields(line), full{}, io.Discard); !errors.Is(err, errFull) {
			t.Errorf("%s, where nothing can be written: %v", line, err)
		}
	}
}

// full is a device that is full.
type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// Lists are completed by one more word; words behind an operand are nobody's.
func TestComplete(t *testing.T) {
	for line, want := range map[string][]string{
		"--set |":        {"a=", "bc"},
		"--set b|":       {"bc"},
		"--set x,b|":     {"x,bc"},
		"-n 2 list --n|": nil,
		"list --he|":     {"--help"},
		"help ho|":       {"hosts"},
		"l|":             {"list"},
	} {
		var called []string
		root := tree(&called)
		Values(root, "set", func() []string { return []string{"a=", "bc"} })
		words := strings.Split(strings.TrimSuffix(line, "|"), " ")
		var out bytes.Buffer
		if _, err := Execute(t.Context(), root, append([]string{"__completeNoDesc"}, words...), &out, io.Discard); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		got := strings.Fields(out.String())
		if got = got[:len(got)-1]; !slices.Equal(got, want) { // the last is what the shell is told beside
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// A version says what is known of the sources, and that the rest is not.
func TestSources(t *testing.T) {
	info := func(version string, settings ...string) *debug.BuildInfo {
		b := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			b.Settings = append(b.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return b
	}
	for want, b := range map[string]*debug.BuildInfo{
		"v1.2.3":               info("v1.2.3"),
		"v1.2.3, revision abc": info("v1.2.3", "vcs.revision", "abc", "vcs.modified", "false"),
		"(development), revision abc with changes":                                                             info("(devel)", "vcs.revision", "abc", "vcs.modified", "true"),
		"(development; the revision was not recorded: built with -buildvcs=false, or outside of a repository)": info("(devel)"),
	} {
		if got := sources(b, true); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
