package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/pflag"
)

// debugging is what the command line says of debuggers.
type debugging struct {
	debugger        string
	ranks           string
	freeze, onError bool
	pprof           string      // directory of profiles
	chosen          []core.Rank // that ranks names, in ascending order; nil: all
}

// flags adds the options.
func (d *debugging) flags(fs *pflag.FlagSet) {
	fs.StringVar(&d.debugger, "debugger", "", "attach gdb or dlv, `NAME`, to ranks before they begin: in this terminal to one, in windows of tmux or X to several")
	fs.StringVar(&d.ranks, "ranks", "", "which ranks --debugger and --freeze mean, `LIST`, such as 0,3 (default all)")
	fs.BoolVar(&d.freeze, "freeze", false, "have ranks wait for a debugger before they begin")
	fs.BoolVar(&d.onError, "freeze-on-error", false, "have a rank that fails wait for a debugger")
	fs.StringVar(&d.pprof, "pprof", "", "have each rank write a CPU profile to `DIR`/rank.N.pprof; where ranks share a process, DIR/rank.all.pprof with labels")
}

// debuggers are the commands that attach to a process, whose number follows.
var debuggers = map[string][]string{
	"gdb": {"gdb", "-q", "-p"},
	"dlv": {"dlv", "attach", "--allow-non-terminal-interactive=true"}, // by scripts
}

// delve runs the debugger of Go where it is not installed.
var delve = []string{"go", "run", "github.com/go-delve/delve/cmd/dlv@latest", "attach", "--allow-non-terminal-interactive=true"}

// check refuses what cannot be debugged so.
func (d *debugging) check(o *options, fs *pflag.FlagSet) error {
	inProcess := o.goroutines || o.model != ""
	switch {
	case d.debugger != "" && debuggers[d.debugger] == nil:
		return fmt.Errorf("--debugger %s: want gdb or dlv; another one is attached to a process of --freeze", d.debugger)
	case fs.Changed("ranks") && !d.freeze && d.debugger == "":
		return errors.New("--ranks says which ranks --debugger or --freeze means; give one of them")
	case fs.Changed("ranks") && inProcess:
		return errors.New("--ranks needs a process per rank; with --goroutines or --model the ranks share one: leave it out")
	case d.debugger != "" && o.where.placement != nil:
		return errors.New("--debugger attaches to processes of this host; on several hosts give --freeze, and attach there")
	case d.debugger != "" && o.launchPrefix != "":
		return errors.New("--debugger attaches to the program, and --launch-prefix starts another one; give --freeze in place of --debugger")
	}
	if d.ranks == "" {
		return nil
	}
	for _, text := range strings.Split(d.ranks, ",") {
		r, err := strconv.Atoi(text)
		if err != nil || r < 0 || r >= o.n {
			return fmt.Errorf("--ranks %s: want numbers from 0 to %d, as in 0,%[2]d", d.ranks, o.n-1)
		}
		d.chosen = append(d.chosen, core.Rank(r))
	}
	slices.Sort(d.chosen)
	d.chosen = slices.Compact(d.chosen)
	return nil
}

// frozen returns which ranks wait, as the variable of the environment says it.
func (d *debugging) frozen() string {
	switch {
	case !d.freeze && d.debugger == "":
		return ""
	case d.ranks == "":
		return "all"
	}
	return d.ranks
}

// among returns the ranks to attach to in a job of so many processes.
func (d *debugging) among(processes int) []core.Rank {
	if d.chosen != nil {
		return d.chosen
	}
	all := make([]core.Rank, processes)
	for r := range all {
		all[r] = core.Rank(r)
	}
	return all
}

// input returns the standard input of rank 0: none if a debugger has it.
func (d *debugging) input(in io.Reader, processes int) io.Reader {
	if len(d.among(processes)) == 1 {
		return nil
	}
	return in
}

// processes returns how many processes aqrun starts.
func (o *options) processes() int {
	if o.goroutines || o.model != "" {
		return 1
	}
	return o.n
}

// attach has the debugger attach to the processes of the job, which wait for it. It returns when a debugger in this terminal has
// ended; those in windows go on.
func (d *debugging) attach(job *spawner.Job, processes int, stderr io.Writer) error {
	ranks := d.among(processes)
	command := debuggers[d.debugger]
	if _, err := exec.LookPath(command[0]); err != nil && d.debugger == "dlv" {
		command = delve
	} else if err != nil {
		return fmt.Errorf("--debugger %s: %w; the ranks wait, and go on when another debugger attaches", d.debugger, err)
	}
	on := func(r core.Rank) []string { return append(slices.Clone(command), strconv.Itoa(job.Pid(r))) }
	if len(ranks) == 1 {
		cmd := exec.Command(on(ranks[0])[0], on(ranks[0])[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		return cmd.Run()
	}
	for _, r := range ranks {
		line := append(window(r), on(r)...)
		if window(r) == nil {
			fmt.Fprintf(stderr, "aqrun: rank %d: %s\n", r, strings.Join(on(r), " "))
			continue
		}
		if err := exec.Command(line[0], line[1:]...).Start(); err != nil {
			return fmt.Errorf("--debugger %s: a window for rank %d: %w", d.debugger, r, err)
		}
	}
	return nil
}

// window returns the command that runs another one in a window for a rank: of tmux, inside of that, else of X; nil if there is neither.
func window(r core.Rank) []string {
	title := fmt.Sprintf("rank %d", r)
	switch {
	case os.Getenv("TMUX") != "":
		return []string{"tmux", "new-window", "-n", title, "--"}
	case os.Getenv("DISPLAY") != "":
		return []string{"xterm", "-T", title, "-e"}
	}
	return nil
}
