package spawner

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A starter and the ranks that it starts may keep files: memory that they share, and where they meet.
// Who is killed leaves them, so they get a directory that goes with the job.

const (
	scratchMark = "{dir}" // stands for its path in a Spec's Starter
	scratchBase = "/dev/shm"
	scratchDir  = "aqueduct-job-" // prefix of its name
)

// scratches reports whether the starter is to have a directory.
func (s *Spec) scratches() bool {
	return slices.ContainsFunc(s.Starter, func(arg string) bool { return strings.Contains(arg, scratchMark) })
}

// withScratch puts the path of the directory into an argument list that begins with the starter.
func (s *Spec) withScratch(argv []string, path string) []string {
	argv = slices.Clone(argv)
	for i, arg := range s.Starter {
		argv[i] = strings.ReplaceAll(arg, scratchMark, path)
	}
	return argv
}

// newScratch makes the directory in memory or, where that cannot be, under TMPDIR.
func newScratch() (*lockedDir, error) {
	d, err := newLockedDir(scratchBase, scratchDir, removeScratch)
	if err != nil {
		d, err = newLockedDir(os.TempDir(), scratchDir, removeScratch)
	}
	if err != nil {
		return nil, fmt.Errorf("making a directory for files of the job: %w; let %s or TMPDIR be one that can be written", err, scratchBase)
	}
	return d, nil
}

// removeScratch removes the directory when all that used it have ended, or been killed: one that was
// killed may still finish the system call it is in, and no other.
func removeScratch(dir string) {
	for tries := 0; os.RemoveAll(dir) != nil && tries < 100; tries++ {
	}
}
