package coretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// envOrder tells a process that it is a rank of a case, and which.
const envOrder = "AQ_CORETEST"

// order is what envOrder holds, in JSON.
type order struct {
	Case   string
	Config core.Config // without Log
	Dir    string
	Orders string // a socket from which further orders come; the rest is empty then
}

// Env returns the variables that make a process, which runs this test binary, a rank of
// the launch.
func (l *Launch) Env() []string {
	return l.order().env()
}

// order makes the order for the ranks of the launch.
func (l *Launch) order() *order {
	o := &order{Case: l.Case.Name, Config: l.Config, Dir: l.Dir}
	o.Config.Log = nil
	return o
}

func (o *order) env() []string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	env := []string{envOrder + "=" + string(b)}
	if shm.RaceEnabled { // or every process would linger for a second at its end
		env = append(env, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	}
	return env
}

// RankMain returns unless this process was started with the variables of Launch.Env. Then
// it joins the job by connect, runs the case, one of the suite or of extra, and exits with
// the status of the job.
func RankMain(connect func() (core.Bootstrap, error), extra ...*Case) {
	text, ok := os.LookupEnv(envOrder)
	if !ok {
		return
	}
	exit, err := runRank(text, connect, extra)
	if err != nil {
		fmt.Fprintln(os.Stderr, "coretest:", err)
	}
	exit(core.StatusOf(err))
}

// TakesOrders reports whether this process is a rank that runs one case after another.
func TakesOrders() bool {
	var o order
	return json.Unmarshal([]byte(os.Getenv(envOrder)), &o) == nil && o.Orders != ""
}

// runRank runs a case, or several. It returns how the process then leaves, too.
func runRank(text string, connect func() (core.Bootstrap, error), extra []*Case) (exit func(int), err error) {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return os.Exit, fmt.Errorf("environment variable %s: %w", envOrder, err)
	}
	boot, err := connect()
	if err != nil {
		return os.Exit, err
	}
	if o.Orders != "" {
		return os.Exit, serve(o.Orders, boot, extra)
	}
	c := find(o.Case, extra)
	if c == nil {
		return os.Exit, fmt.Errorf("environment variable %s: no case %q", envOrder, o.Case)
	}
	err = core.Main(boot, o.Config, func(j *core.Job) error { return run(c, j, process{o.Dir}) })
	if err == nil {
		return os.Exit, nil
	}
	return core.ExitOf(boot), err
}

// process is the side of a rank that is a process: lines on standard output, and a
// directory that the ranks share.
type process struct{ dir string }

func (p process) said(text string) bool {
	all, err := os.ReadFile(filepath.Join(p.dir, saidFile))
	return err == nil && bytes.Contains(all, []byte(text))
}

// saidFile is where the ranks find what the job has written, in the directory that they share.
const saidFile = "said"

// killMark begins a line by which a rank asks for the loss of another.
const killMark = "coretest: kill rank "

func (process) print(line string) { os.Stdout.WriteString(line) }

func (p process) kill(r core.Rank) { p.print(fmt.Sprintf("%s%d\n", killMark, r)) }

func (p process) note(name string) {
	if err := os.WriteFile(filepath.Join(p.dir, name), nil, 0o600); err != nil {
		panic(err)
	}
}

func (p process) noted(name string) bool {
	_, err := os.Stat(filepath.Join(p.dir, name))
	return err == nil
}

// Output collects what the ranks of a job of processes print, for T.Said too. It may be written to
// from several goroutines, in whole lines.
type Output struct {
	Dir string // Launch.Dir; "": T.Said finds nothing

	mu    sync.Mutex
	text  bytes.Buffer
	kills []core.Rank
	kill  func(core.Rank)
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for line := range strings.Lines(string(p)) {
		if rank, ok := strings.CutPrefix(strings.TrimSpace(line), killMark); ok {
			if r, err := strconv.Atoi(rank); err == nil {
				o.kills = append(o.kills, core.Rank(r))
			}
		}
	}
	o.carryOutLocked()
	o.text.Write(p) // never fails
	if o.Dir == "" {
		return len(p), nil
	}
	return len(p), os.WriteFile(filepath.Join(o.Dir, saidFile), o.text.Bytes(), 0o600)
}

// Kill gives the way to lose a rank, which must not wait for the job; it is called for
// every kill that a rank asks for, also of the past. Launchers call it once the job runs.
func (o *Output) Kill(kill func(core.Rank)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kill = kill
	o.carryOutLocked()
}

func (o *Output) carryOutLocked() {
	if o.kill == nil {
		return
	}
	for _, r := range o.kills {
		o.kill(r)
	}
	o.kills = nil
}

// String returns what was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
