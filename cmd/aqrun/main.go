// Aqrun starts the ranks of an Aqueduct job on this host and ends with the job's status.
//
//	aqrun -n 4 ./hello
//	aqrun -n 4 --model loopback ./hello
//	aqrun conduits
//
// aqrun -h lists the options; package spawner describes how a job starts and ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// statusUsage is the exit status after misuse.
const statusUsage = 2

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command and returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "conduits" {
		return conduits(args[1:], stdout, stderr)
	}
	o, err := parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "aqrun: %v\nTry 'aqrun -h'.\n", err)
		return statusUsage
	case o.version:
		fmt.Fprintln(stdout, version())
		return 0
	}
	spec := o.spec()
	if o.dryRun {
		return report(stderr, spawner.Describe(stdout, spec))
	}
	spec.Stdin, spec.Stdout, spec.Stderr = os.Stdin, stdout, stderr
	return launch(spec, stderr)
}

// passed are the signals that go on to the ranks.
var passed = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGQUIT}

// launch runs the job and passes it the signals that users send.
func launch(spec spawner.Spec, stderr io.Writer) int {
	// A reader that goes away is an error of the next write, not the end of aqrun.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	// Reading the terminal from the background gives no input instead of stopping aqrun.
	signal.Ignore(unix.SIGTTIN)
	sigs := make(chan os.Signal, 16)
	for _, s := range passed {
		if !signal.Ignored(s) { // as under nohup
			signal.Notify(sigs, s)
		}
	}

	job, err := spawner.Start(context.Background(), spec)
	if err != nil {
		return report(stderr, err)
	}
	go func() {
		for s := range sigs {
			job.Signal(s.(syscall.Signal))
		}
	}()
	status, _ := job.Wait() // the job has said why
	return status
}

// report prints the error, if there is one, and returns the exit status it stands for.
func report(stderr io.Writer, err error) int {
	if err != nil {
		fmt.Fprintf(stderr, "aqrun: %v\n", err)
	}
	return core.StatusOf(err)
}

// version returns what is known about how this program was built.
func version() string {
	v := "aqrun (unknown version)"
	if info, ok := debug.ReadBuildInfo(); ok {
		v = "aqrun " + info.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
