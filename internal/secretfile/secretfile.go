// Package secretfile reads files that hold a secret, such as a key, and refuses those that others may know.
package secretfile

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Read returns what a file holds, of at most limit bytes. It is an error if the file belongs to another user than this
// process's or root, or if its mode lets anybody but its owner read or write it: then others may know the secret.
//
// The mode does not count on a file system that is mounted read-only. That is how Kubernetes, Compose and systemd
// hand secrets to a container or a service, where nobody else is. Owner and mode are the orchestrator's there, and the program
// cannot change them: Kubernetes lets the group of a pod read a secret if the pod's user is not root.
func Read(path string, limit int) ([]byte, error) {
	// Opened before it is looked at, so that both is of one file, and without waiting for the
	// writer of a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := errors.Join(unix.Fstat(int(f.Fd()), &st), unix.Fstatfs(int(f.Fd()), &fs)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	given := fs.Flags&unix.ST_RDONLY != 0
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s: it is no ordinary file", path)
	case !given && st.Mode&0o077 != 0:
		return nil, fmt.Errorf("%s: its mode is %#o, so others than its owner may know the key; make a new key, with mode 0600", path, st.Mode&0o777)
	case !given && st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s: it belongs to user %d, who may read it; this process is user %d's", path, st.Uid, os.Geteuid())
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(b) > limit {
		return nil, fmt.Errorf("%s: it has %d bytes; the most is %d", path, max(st.Size, int64(len(b))), limit)
	}
	return b, nil
}
