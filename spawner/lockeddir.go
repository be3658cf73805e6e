package spawner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockedDir is a fresh directory of mode 0700. It is locked (flock) while its launcher lives, so that
// those of launchers that were killed can be told apart and removed by the next.
type lockedDir struct {
	path string
	lock *os.File
}

// newLockedDir makes a directory in base, whose name begins with the prefix. It has that name only when it is
// locked, so one that is not was left behind: those of this user's launchers are first removed, by a function.
func newLockedDir(base, prefix string, remove func(dir string)) (*lockedDir, error) {
	eachStale(base, prefix, 0, remove)
	eachStale(base, newMark+prefix, staleAge, remove)
	unnamed, err := os.MkdirTemp(base, newMark+prefix)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(base, strings.TrimPrefix(filepath.Base(unnamed), newMark))
	lock, err := lockDir(unnamed)
	if err == nil {
		if err = os.Rename(unnamed, path); err != nil {
			lock.Close()
		}
	}
	if err != nil {
		os.Remove(unnamed)
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &lockedDir{path, lock}, nil
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

// newMark begins the name of a directory that is not locked yet.
const newMark = ".new-"

// staleAge is how old such a directory must be before it counts as left behind: far more than a
// launcher needs between making and locking it.
const staleAge = time.Minute

// eachStale calls the function for what launchers of this user that were killed have left in base, of an age
// at least.
func eachStale(base, prefix string, age time.Duration, remove func(dir string)) {
	d, err := os.Open(base)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		dir := filepath.Join(base, name)
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil || int(st.Uid) != os.Geteuid() ||
			time.Since(time.Unix(st.Mtim.Unix())) < age {
			continue
		}
		f, err := lockDir(dir)
		if err != nil {
			continue // its launcher lives
		}
		remove(dir)
		f.Close()
	}
}
