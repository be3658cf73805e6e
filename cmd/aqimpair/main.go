// Aqimpair runs a command beside a network of impaired links: as many network namespaces as
// asked for, in which aqrun then places the ranks of a job.
//
//	aqimpair -n 4 --link loss=10%,delay=1ms --report -- \
//	    aqrun -n 4 --launch-prefix 'aqimpair enter {rank}' ./prog
//
// aqimpair -h lists the options; package conduits/udp/impair describes the links, and
// conduits/udp/impair/tunnel the network. It needs root.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	_ "github.com/aqueduct-go/aqueduct/internal/stdfd"
	"golang.org/x/sys/unix"
)

// Exit statuses of aqimpair's own, as aqrun has them.
const (
	statusUsage   = 2
	statusSelf    = 125
	statusExec    = 126
	statusMissing = 127
)

// The main goroutine stays on the main thread. PR_SET_PDEATHSIG is a thread's: the kernel kills the
// command when the thread that started it ends, and what enter executes is killed likewise only if the main
// thread executes it.
func init() { runtime.LockOSThread() }

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	_, err := cli.Execute(context.Background(), root(), args, stdout, stderr)
	var status ended
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, new(cli.Misuse)):
		fmt.Fprintf(stderr, "aqimpair: %v\nTry 'aqimpair -h'.\n", err)
		return statusUsage
	}
	return fail(stderr, err)
}

// ended is the status of COMMAND as an error: it has said why.
type ended int

func (e ended) Error() string { return fmt.Sprintf("the command has ended with status %d", int(e)) }

// start runs the command beside its network.
func (o *options) start(stderr io.Writer) error {
	net, err := tunnel.New(o.network)
	if err != nil {
		return failure{statusSelf, err}
	}
	defer net.Close()
	status, err := execute(o.command, variables(net, o.network.Nodes))
	stats := net.Stats()
	if o.report {
		fmt.Fprintf(stderr, "aqimpair: %v\n", stats)
	}
	if stats.Delivered == 0 && status == 0 && err == nil {
		fmt.Fprintf(stderr, "aqimpair: nothing used the links; a job on them runs its ranks through 'aqimpair enter' and over %s, such as by --conduit udp --set interface=%[1]s\n", tunnel.Device)
	}
	if err == nil && status != 0 {
		return ended(status)
	}
	return err
}

// failure is an error with the exit status it stands for.
type failure struct {
	status int
	error
}

// Unwrap returns the error itself.
func (f failure) Unwrap() error { return f.error }

// fail prints the error and returns its exit status.
func fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "aqimpair: %v\n", err)
	if f := (failure{}); errors.As(err, &f) {
		return f.status
	}
	return statusSelf
}

// find returns the file of a program.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", failure{statusMissing, fmt.Errorf("program %s not found; give its path, or a name in PATH", name)}
	}
	return "", failure{statusExec, fmt.Errorf("program %s cannot be executed: %w", name, err)}
}

// execute runs the command to its end and returns its status: 128 and the signal's number if a
// signal killed it. It dies with this process.
func execute(command, env []string) (status int, err error) {
	path, err := find(command[0])
	if err != nil {
		return 0, err
	}
	sigs := make(chan os.Signal, 16)
	signal.Notify(sigs, handled()...)
	cmd := exec.Command(path, command[1:]...)
	cmd.Args[0] = command[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, failure{statusExec, fmt.Errorf("program %s cannot be executed: %w", command[0], err)}
	}
	go pass(sigs, cmd.Process)
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return 0, failure{statusSelf, err}
	}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// handled returns the signals that must not end aqimpair before its command; without those
// that it was started to ignore, as under nohup, which the command is to ignore as well.
func handled() (sigs []os.Signal) {
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2} {
		if !signal.Ignored(s) {
			sigs = append(sigs, s)
		}
	}
	return sigs
}

// pass hands signals on to the command, but for those of the terminal, which sends them to
// the command itself.
func pass(sigs <-chan os.Signal, command *os.Process) {
	for s := range sigs {
		if s != unix.SIGINT && s != unix.SIGQUIT {
			_ = command.Signal(s) // an error means that it has ended
		}
	}
}

// The variables by which the command, and enter below it, know the network.
const (
	envNamespaces = "AQIMPAIR_NAMESPACES" // paths of the nodes' network namespaces, with commas
	envAddress    = "AQIMPAIR_ADDRESS"    // what enter adds: the address of its node
)

// variables returns what the command is told.
func variables(net *tunnel.Tunnel, nodes int) []string {
	var paths []string
	for i := range nodes {
		paths = append(paths, net.Namespace(i))
	}
	return []string{envNamespaces + "=" + strings.Join(paths, ",")}
}
