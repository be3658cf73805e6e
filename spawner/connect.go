package spawner

import (
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
	"golang.org/x/sys/unix"
)

// ErrNotLaunched is what Connect returns in a process that no launcher has started.
var ErrNotLaunched = errors.New("spawner: this process was not started by aqrun")

// Launched reports whether a launcher started this process as one rank of a job: the
// launcher then tells the user how the job ends. It does not change when Connect is called.
func Launched() bool { return os.Getenv(EnvRank) != "" || Static() }

// RankText returns what the environment says this process's rank is, "" if nothing.
func RankText() string {
	text := os.Getenv(EnvRank)
	if text == "" && Static() {
		return os.Getenv(envIndex)
	}
	if name, ok := strings.CutPrefix(text, "$"); ok {
		return os.Getenv(name)
	}
	return text
}

// joinTime is how long a rank waits to be let in.
const joinTime = 30 * time.Second

// Connect joins the job whose launcher started this process, or which is static, and returns the rank's
// Bootstrap, which also is a core.DescriptorSharer. It may be called once; it removes the
// job's secret from the environment.
//
// From then until Close, SIGQUIT makes the process print the stacks of all goroutines and
// exit with status 2. Standard input of a rank other than 0 is /dev/null from then on, also if
// another launcher (see Spec.Starter) has given it another.
//
// The error is ErrNotLaunched if there is no launcher. It is another if the environment is
// malformed, or if another launcher has started several processes that cannot form a job.
func Connect() (core.Bootstrap, error) {
	if Static() {
		return connectStatic()
	}
	id, err := readIdentity()
	if err != nil {
		return nil, err
	}
	l, hostOf, err := id.join(purposeRank)
	if err != nil {
		return nil, fmt.Errorf("spawner: rank %d cannot join its job through %s: %w", id.rank, id.socket, err)
	}
	c := newClient(l, id.rank, id.size, hostOf)
	c.started = strings.HasPrefix(os.Getenv(EnvRank), "$")
	if c.started && id.rank != 0 {
		if err := EndInput(); err != nil {
			l.close()
			return nil, fmt.Errorf("spawner: rank %d: standard input: %w", id.rank, err)
		}
	}
	c.undo = dumpOnQuit(id.rank, c.dumped)
	go c.watch()
	return c, nil
}

// jobID is what the environment says about the job.
type jobID struct {
	rank, size int
	socket     string
	secret     []byte
}

// readIdentity reads the environment and removes the secret from it.
func readIdentity() (*jobID, error) {
	secret := os.Getenv(EnvSecret)
	os.Unsetenv(EnvSecret)
	var missing []string
	for _, v := range []struct{ name, value string }{
		{EnvRank, RankText()}, {EnvSize, os.Getenv(EnvSize)},
		{EnvSocket, os.Getenv(EnvSocket)}, {EnvSecret, secret},
	} {
		if v.value == "" {
			missing = append(missing, v.name)
		}
	}
	switch len(missing) {
	case 0:
	case 4:
		if err := checkBatch(); err != nil {
			return nil, err
		}
		return nil, ErrNotLaunched
	default:
		return nil, fmt.Errorf("spawner: the environment of a job is incomplete: %s not set; start the program with aqrun, and once per rank",
			strings.Join(missing, ", "))
	}
	bad := func(name, want string) error {
		return fmt.Errorf("spawner: %s=%q is not %s; start the program with aqrun", name, os.Getenv(name), want)
	}
	id := &jobID{socket: os.Getenv(EnvSocket)}
	var err error
	if id.size, err = strconv.Atoi(os.Getenv(EnvSize)); err != nil || id.size < 1 || id.size > MaxRanks {
		return nil, bad(EnvSize, fmt.Sprintf("a number of ranks from 1 to %d", MaxRanks))
	}
	if id.rank, err = strconv.Atoi(RankText()); err != nil || id.rank < 0 || id.rank >= id.size {
		return nil, bad(EnvRank, fmt.Sprintf("a rank of a job of %d", id.size))
	}
	if id.secret, err = hex.DecodeString(secret); err != nil || len(id.secret) != secretSize {
		return nil, fmt.Errorf("spawner: %s does not hold %d bytes in hexadecimal; start the program with aqrun", EnvSecret, secretSize)
	}
	return id, nil
}

// join connects to the launcher and is let in for a purpose. It returns where the ranks of the job are, too.
func (id *jobID) join(purpose string) (*link, placement, error) {
	c, err := dial(id.socket)
	if err != nil {
		return nil, nil, err
	}
	c.SetDeadline(time.Now().Add(joinTime))
	l := newLink(c)
	hostOf, err := id.introduce(l, purpose)
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	c.SetDeadline(time.Time{})
	return l, hostOf, nil
}

// dial connects to the socket. While the launcher has more callers than its backlog holds,
// it waits: unlike net.Dial, which fails then, it makes the call on a blocking socket. The
// end of the launcher ends the wait.
func dial(path string) (*net.UnixConn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	for {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, os.NewSyscallError("connect", err)
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// introduce performs the rank's side of the handshake and returns what the welcome says of where ranks are.
func (id *jobID) introduce(l *link, purpose string) (placement, error) {
	expect, err := respond(l.conn, id.secret, purpose, id.rank)
	if err != nil {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	body, err := l.receive()
	if err != nil {
		return nil, fmt.Errorf("the launcher did not let it in (%w)", err)
	}
	m, err := decode(body)
	r := wire.NewReader(m.blob)
	if err != nil || m.kind != kindWelcome || !hmac.Equal(r.Next(proofSize), expect) {
		return nil, errors.New("the other end does not know the secret of the job")
	}
	if r.Len() == 0 {
		return together(id.size), nil
	}
	return readPlacement(r, id.size)
}
