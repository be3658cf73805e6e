package spawner

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	socketDir  = "aqueduct-socket-" // prefix of the directory's name
	socketName = "s"
	// maxPath is the longest path of a UNIX socket: sun_path without its final zero.
	maxPath = 107
)

// rendezvousPoint is the socket where the ranks of a job find their launcher, in a
// directory of its own.
type rendezvousPoint struct {
	listener *net.UnixListener
	path     string
	dir      *lockedDir
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
	dir, err := newLockedDir(base, socketDir, removeSocketDir)
	if err != nil {
		return nil, fmt.Errorf("making a directory for the job's socket: %w; set TMPDIR to one that can be written", err)
	}
	p := &rendezvousPoint{path: filepath.Join(dir.path, socketName), dir: dir}
	p.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: p.path, Net: "unix"})
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
	os.Remove(p.dir.path)
	p.dir.lock.Close()
}

// removeSocketDir removes the directory of a rendezvous point.
func removeSocketDir(dir string) {
	var st unix.Stat_t
	if sock := filepath.Join(dir, socketName); unix.Lstat(sock, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
		os.Remove(sock)
	}
	os.Remove(dir) // refused if it holds anything else
}
