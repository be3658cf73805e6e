package spawner

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	socketDir  = "aqueduct-socket-" // prefix of the directory's name
	socketName = "s"
	// maxPath is the longest path of a UNIX socket: sun_path without its final zero.
	maxPath = 107
)

// rendezvousPoint is the socket where the ranks of a job find their launcher, in a
// directory of its own. The directory is locked (flock) while its launcher lives, so that
// those of launchers that were killed can be told apart and removed by the next.
type rendezvousPoint struct {
	listener *net.UnixListener
	path     string
	lock     *os.File
}

// listen makes the rendezvous point under TMPDIR, or under /tmp if that path is too long.
func listen() (*rendezvousPoint, error) {
	base, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, err
	}
	// 10 is the most digits that MkdirTemp appends.
	if len(filepath.Join(base, socketDir, socketName))+10 > maxPath {
		base = "/tmp"
	}
	removeStale(base)
	dir, err := os.MkdirTemp(base, socketDir)
	if err != nil {
		return nil, fmt.Errorf("making a directory for the job's socket: %w; set TMPDIR to one that can be written", err)
	}
	p := &rendezvousPoint{path: filepath.Join(dir, socketName)}
	p.lock, err = lockDir(dir)
	if err == nil {
		p.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: p.path, Net: "unix"})
	}
	if err != nil {
		p.remove()
		return nil, fmt.Errorf("making the job's socket: %w", err)
	}
	return p, nil
}

// remove closes the socket and removes it and its directory.
func (p *rendezvousPoint) remove() {
	if p.listener != nil {
		p.listener.Close() // unlinks the socket
	}
	os.Remove(filepath.Dir(p.path))
	if p.lock != nil {
		p.lock.Close()
	}
}

// lockDir opens the directory and locks it, without waiting.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// staleAge is how old an unlocked directory must be before it counts as left behind: far
// more than a launcher needs between making and locking it.
const staleAge = time.Minute

// removeStale removes what launchers of this user that were killed have left in base.
func removeStale(base string) {
	d, err := os.Open(base)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasPrefix(name, socketDir) {
			continue
		}
		dir := filepath.Join(base, name)
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil || int(st.Uid) != os.Geteuid() ||
			time.Since(time.Unix(st.Mtim.Unix())) < staleAge {
			continue
		}
		f, err := lockDir(dir)
		if err != nil {
			continue // its launcher lives
		}
		if sock := filepath.Join(dir, socketName); unix.Lstat(sock, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			os.Remove(sock)
		}
		os.Remove(dir) // refused if it holds anything else
		f.Close()
	}
}
