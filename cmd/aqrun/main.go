// Aqrun starts the ranks of an Aqueduct job, on this host or several, and ends with the job's status.
//
//	aqrun -n 4 ./hello
//	aqrun -n 4 --host a:2,b:2 ./hello
//	aqrun -n 1 ./server : -n 3 ./client
//	aqrun -n 4 --model loopback ./hello
//	aqrun --model list
//	aqrun conduits [NAME[/PROFILE]]
//
// aqrun -h lists the options, aqrun help the topics that have a text of their own; package spawner describes how a job starts and ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	_ "github.com/aqueduct-go/aqueduct/internal/stdfd"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// Exit statuses of aqrun's own, besides the spawner's.
const (
	statusUsage = 2   // misuse
	statusSelf  = 125 // aqrun failed, as when it cannot write
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command and returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	_, err := cli.Execute(context.Background(), root(), args, stdout, stderr)
	var status ended
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, new(cli.Misuse)):
		fmt.Fprintf(stderr, "aqrun: %v\nTry 'aqrun -h'.\n", err)
		return statusUsage
	}
	if !errors.As(err, new(*core.ExitError)) {
		err = written(err) // what is left is output that cannot be written
	}
	return report(stderr, err)
}

// ended is the status of a job as an error: whoever ended it has said why.
type ended int

func (e ended) Error() string { return fmt.Sprintf("the job has ended with status %d", int(e)) }

// start carries out what the options say, which fs has read.
func (o *options) start(fs *pflag.FlagSet, stdout, stderr io.Writer) error {
	if o.model == listModels {
		_, err := io.WriteString(stdout, aqueduct.Models())
		return err
	}
	if err := o.complete(fs); err != nil {
		return cli.Misused(err)
	}
	for _, note := range o.where.notes() {
		fmt.Fprintf(stderr, "aqrun: %s\n", note)
	}
	spec := o.spec()
	if o.dryRun {
		return spawner.Describe(stdout, spec)
	}
	spec.Stdin, spec.Stdout, spec.Stderr = os.Stdin, stdout, stderr
	var attach func(*spawner.Job) error
	if o.debug.debugger != "" {
		attach = func(job *spawner.Job) error { return o.debug.attach(job, o.processes(), stderr) }
		spec.Stdin = o.debug.input(spec.Stdin, o.processes())
	}
	if status := launch(spec, &o.watch, stderr, attach); status != 0 {
		return ended(status)
	}
	return nil
}

// passed are the signals that go on to the ranks.
var passed = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGQUIT}

// launch runs the job and passes it the signals that users send. If attach is not nil it is called when the job has started, and
// waited for; until it returns, SIGINT is for what it runs.
func launch(spec spawner.Spec, watch *watching, stderr io.Writer, attach func(*spawner.Job) error) int {
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

	job, err := begin(spec, sigs)
	if err != nil {
		return report(stderr, err)
	}
	if spec.Hosts != nil {
		go pause(job)
	}
	attached := make(chan struct{})
	go func() {
		defer close(attached)
		if attach == nil {
			return
		}
		if err := attach(job); err != nil {
			fmt.Fprintf(stderr, "aqrun: %v\n", err)
		}
	}()
	go func() {
		for s := range sigs {
			select {
			case <-attached:
			default:
				if s == unix.SIGINT {
					continue
				}
			}
			job.Signal(s.(syscall.Signal))
		}
	}()
	status, _ := job.Wait() // the job has said why
	<-attached
	return watch.write(&spec, job, status, stderr)
}

// begin starts the job. Where agents on other hosts have to be started first, a signal to end gives that up.
func begin(spec spawner.Spec, sigs chan os.Signal) (*spawner.Job, error) {
	if spec.Hosts == nil {
		return spawner.Start(context.Background(), spec)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	started, watched := make(chan bool), make(chan syscall.Signal, 1)
	go func() {
		defer close(watched)
		for {
			select {
			case <-started:
				return
			case s := <-sigs:
				if s == unix.SIGINT || s == unix.SIGTERM {
					watched <- s.(syscall.Signal)
					cancel(fmt.Errorf("given up after %s", unix.SignalName(s.(syscall.Signal))))
					return
				}
			}
		}
	}()
	job, err := spawner.Start(ctx, spec)
	close(started)
	if sig := <-watched; sig != 0 && err != nil {
		err = &core.ExitError{Status: 128 + int(sig), Reason: err.Error()}
	}
	return job, err
}

// pause has the agents of the job's hosts know when the user stops aqrun, as by Ctrl-Z: they would take it for lost.
func pause(job *spawner.Job) {
	if signal.Ignored(unix.SIGTSTP) {
		return
	}
	stops, goesOn := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stops, unix.SIGTSTP)
	signal.Notify(goesOn, unix.SIGCONT)
	for range stops {
		job.Pause()
		unix.Kill(os.Getpid(), unix.SIGSTOP)
		<-goesOn
		job.Resume()
	}
}

// written returns the error of a failed write with its exit status.
func written(err error) error {
	return &core.ExitError{Status: statusSelf, Reason: err.Error()}
}

// report prints the error, if there is one, and returns the exit status it stands for.
func report(stderr io.Writer, err error) int {
	if err != nil {
		fmt.Fprintf(stderr, "aqrun: %s\n", strings.TrimPrefix(err.Error(), "spawner: "))
	}
	return core.StatusOf(err)
}
