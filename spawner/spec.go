package spawner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"golang.org/x/sys/unix"
)

// Mode says where the ranks of a job live.
type Mode string

// The modes.
const (
	Processes  Mode = ""           // every rank is a process
	Goroutines Mode = "goroutines" // one process, whose ranks are goroutines
	Modelled   Mode = "model"      // one process, whose ranks are coroutines in virtual time
)

// DefaultGrace is how long ranks may live on after the job has failed, if a Spec does not
// say.
const DefaultGrace = time.Second

// Spec describes a job to start. The zero value of every field but N and Prog is a usable
// default.
type Spec struct {
	N    int      // ranks, 1 to MaxRanks
	Prog string   // program: a path (relative to Dir) or a name to find in PATH
	Args []string // its arguments, passed on untouched
	Env  []string // NAME=value, on top of the launcher's environment; not what fields stand for
	Dir  string   // working directory of the ranks; "" is the launcher's

	// Programs, if not nil, are what the ranks execute in place of Prog and its Args: the lowest ranks the first, as many
	// as its N says, the next ones the second, and so on. N is the sum of theirs. They are processes, and no Starter's.
	Programs []Program

	// Prefix is put before the program of every rank, as in "ip netns exec aq{rank}";
	// "{rank}" in it becomes the rank's number. Its first word is looked up as Prog is. It
	// starts the program, or becomes it; ranks that share a process have none.
	Prefix []string

	// Starter, if not nil, is a command that starts the processes of all ranks in place of this launcher, such
	// as mpiexec and its options. Through it comes the output of all, as one, and it has standard input.
	Starter *core.Starter

	// Hosts are the names of the hosts that the ranks live on; nil: all live on this one. HostOf is by rank the
	// index of its host. Hosts are in the order of their lowest ranks. On each an agent is started, which is this
	// program again, and starts the ranks there; Launch says how. Dir, Prog and Prefix are looked up there.
	Hosts  []string
	HostOf []int
	Launch Launch

	Mode    Mode
	Conduit string // "": as the launcher's environment says, else the program's default
	Profile string
	Segment string

	Bind Binding
	// ReportBindings has the launcher say which CPUs each rank may use.
	ReportBindings bool

	Timeout time.Duration // 0: none
	Grace   time.Duration // 0: DefaultGrace; negative: none

	// Stdin is the standard input of rank 0; the others read /dev/null, as does rank 0 if
	// it is nil. A file other than a terminal is handed over as it is; anything else is
	// copied by a goroutine that ends at its end of file, or after the job at its next Read.
	Stdin io.Reader
	// Stdout and Stderr receive the ranks' output in whole lines, and what has had no end of
	// line for 200 ms; nil discards it. Stderr also receives the launcher's own messages,
	// which begin with "aqueduct: ". A Write that blocks holds up the end of the job unless
	// it was forced; then it is left behind, and none follows it.
	Stdout, Stderr io.Writer
	TagOutput      bool   // begin every line with "[rank] "
	Timestamps     bool   // begin every line, also of the launcher's own, with the time at which this process writes it: "2026-01-31T23:59:59.999Z ", in UTC
	OutputDir      string // also write rank.N.out and rank.N.err there, byte for byte

	Verbose bool // report every rank that starts and ends, and every agent that comes (Launcher.Together)
	Unseen  bool // other processes of this user cannot look at the job (Jobs)
}

// failure makes the error of a launcher that cannot start the job.
func failure(status int, format string, args ...any) error {
	return &core.ExitError{Status: status, Reason: "spawner: " + fmt.Sprintf(format, args...)}
}

// Statuses of the launcher's own; but for misuse, as env(1) and timeout(1) have them.
const (
	statusUsage   = 2
	statusTimeout = 124
	statusSelf    = 125
	statusExec    = 126
	statusMissing = 127
	statusPipe    = 128 + int(unix.SIGPIPE)
)

// processes returns how many processes the launcher itself starts.
func (s *Spec) processes() int {
	switch {
	case s.Mode != Processes || s.started():
		return 1
	case s.Hosts != nil:
		return min(len(s.Hosts), s.Launch.width())
	}
	return s.N
}

// ranks returns how many ranks the launcher knows one by one.
func (s *Spec) ranks() int {
	if s.Mode != Processes {
		return 1
	}
	return s.N
}

// grace returns the grace period in force.
func (s *Spec) grace() time.Duration {
	if s.Grace == 0 {
		return DefaultGrace
	}
	return max(s.Grace, 0)
}

// check refuses a Spec that cannot run.
func (s *Spec) check() error {
	if err := checkCount(s.N, s.processes()); err != nil {
		return failure(statusSelf, "%v", err)
	}
	if err := checkEnv(s.Env); err != nil {
		return failure(statusUsage, "%v", err)
	}
	switch s.Mode {
	case Processes, Goroutines, Modelled:
	default:
		return failure(statusSelf, "unknown mode %q; known: %q, %q", s.Mode, Goroutines, Modelled)
	}
	switch s.Bind {
	case "", BindNone, BindCore, BindSocket, BindNUMA:
	default:
		return failure(statusSelf, "unknown binding %q; known: %q, %q, %q, %q", s.Bind, BindNone, BindCore, BindSocket, BindNUMA)
	}
	if (s.bound() || s.ReportBindings) && s.Mode != Processes {
		return failure(statusSelf, "ranks that share a process cannot be bound one by one; use binding %q, without a report", BindNone)
	}
	if len(s.Prefix) > 0 && s.Mode != Processes {
		return failure(statusSelf, "ranks that share a process cannot be started one by one through %s; leave the prefix out", quote(s.Prefix))
	}
	if err := s.checkPrograms(); err != nil {
		return err
	}
	if err := s.checkStarter(); err != nil {
		return err
	}
	if err := s.checkHosts(); err != nil {
		return err
	}
	if s.Timeout < 0 {
		return failure(statusSelf, "timeout %v is negative", s.Timeout)
	}
	return nil
}

// find looks prog up as a shell in dir would.
func find(prog, dir string) (string, error) {
	look := prog
	if strings.Contains(prog, "/") && !filepath.IsAbs(prog) {
		look = filepath.Join(dir, prog)
		if !strings.Contains(look, "/") {
			look = "./" + look // or LookPath would search PATH
		}
	}
	found, err := exec.LookPath(look)
	switch {
	case err == nil && look != prog:
		return prog, nil // relative to dir, where the rank is when it executes
	case err == nil:
		return found, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", failure(statusMissing, "program %s not found in PATH; give a path such as ./%s", prog, prog)
	case errors.Is(err, fs.ErrNotExist):
		return "", failure(statusMissing, "program %s: no such file", look)
	}
	return "", failure(statusExec, "program %s cannot be executed: %v", prog, errors.Unwrap(err))
}

// forRank replaces "{rank}" in the prefix part of an argument list.
func (s *Spec) forRank(argv []string, rank int) []string {
	argv = slices.Clone(argv)
	for i := range s.Prefix {
		argv[i] = strings.ReplaceAll(argv[i], "{rank}", strconv.Itoa(rank))
	}
	return argv
}

// settings returns the variables that tell every rank how the job runs.
func (s *Spec) settings() []string {
	env := []string{EnvGrace + "=" + s.grace().String()}
	for _, v := range [][2]string{{EnvConduit, s.Conduit}, {EnvProfile, s.Profile}, {EnvSegment, s.Segment}} {
		if v[1] != "" {
			env = append(env, v[0]+"="+v[1])
		}
	}
	return env
}

// identityOf returns the variables that tell process rank who it is.
func (s *Spec) identityOf(rank int, job, socket, secret string) []string {
	if s.Mode != Processes {
		return []string{EnvJob + "=" + job, EnvMode + "=" + string(s.Mode), EnvRanks + "=" + strconv.Itoa(s.N)}
	}
	number := strconv.Itoa(rank)
	if s.started() {
		number = "$" + s.Starter.RankVar
	}
	return []string{EnvJob + "=" + job, EnvRank + "=" + number, EnvSize + "=" + strconv.Itoa(s.N), EnvSocket + "=" + socket, EnvSecret + "=" + secret}
}
