package spawner

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/aqueduct-go/aqueduct/core"
	"golang.org/x/sys/unix"
)

// entryName is the argument 1 with which a Starter executes this program in place of a rank's.
const entryName = "aqueduct-rank"

// What a Starter executes for a rank gets no further than this: it tells the launcher which process the
// rank is, and becomes the rank's program. So the launcher knows of ranks that end before they join.
func init() {
	if len(os.Args) > 2 && os.Args[1] == entryName && os.Getenv(EnvSocket) != "" {
		status, err := enter(os.Args[2:])
		fmt.Fprintf(os.Stderr, "aqueduct: rank %s cannot begin: %v\n", RankText(), err)
		syscall.Exit(status)
	}
}

// enter enters this process as a rank's into the job that the environment describes, and executes the
// rank's program. It returns if that cannot be, with a status to exit with.
func enter(argv []string) (status int, err error) {
	env := os.Environ()
	id, err := readIdentity()
	if err != nil {
		return statusSelf, err
	}
	l, _, err := id.join(purposeEntry)
	if err != nil {
		return statusSelf, fmt.Errorf("entering the job through %s: %w", id.socket, err)
	}
	l.close()
	err = startFailure(id.rank, argv[0], syscall.Exec(argv[0], argv, env))
	return core.StatusOf(err), err
}

// entered notes which process a rank is, on the goroutine of run.
func (j *Job) entered(rank, pid int) error {
	switch m := &j.members[rank]; {
	case m.pid != 0:
		return fmt.Errorf("rank %d is process %d already", rank, m.pid)
	case m.exited:
		return errRankEnded
	}
	return j.follow(rank, pid)
}

// admitEntry lets the process of a rank in whose program will join, or not.
func (h *local) admitEntry(rank int, l *link, welcome []byte) error {
	if h.starter == nil {
		return errors.New("this job's launcher starts its ranks itself")
	}
	cred, err := peerOf(l.conn)
	if err != nil {
		return err
	}
	answer := make(chan error, 1)
	if !h.post(func() { answer <- h.starter.entered(rank, int(cred.Pid)) }) {
		return errOver
	}
	if err := <-answer; err != nil {
		return err
	}
	defer l.close()
	if err := l.send(appendFrame(nil, kindWelcome, func(b []byte) []byte { return append(b, welcome...) })); !errors.Is(err, unix.EPIPE) {
		return err
	}
	return nil // it has ended, as is noticed by other means
}
