package spawner

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
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
	return s.started() && slices.ContainsFunc(s.Starter.Command, func(arg string) bool { return strings.Contains(arg, scratchMark) })
}

// withScratch puts the path of the directory into an argument list that begins with the starter.
func (s *Spec) withScratch(argv []string, path string) []string {
	argv = slices.Clone(argv)
	for i, arg := range s.Starter.Command {
		argv[i] = strings.ReplaceAll(arg, scratchMark, path)
	}
	return argv
}

// newScratch makes the directory in the first of the bases that can be written and has room for so many bytes. It
// says why that is not the first.
func newScratch(need int64, bases ...string) (d *lockedDir, why string, err error) {
	var no []string
	for _, base := range bases {
		if left, err := room(base); err == nil && left < need {
			no = append(no, fmt.Sprintf("%s has %d MB left", base, left>>20))
		} else if d, err := newLockedDir(base, scratchDir, removeScratch); err == nil {
			return d, strings.Join(no, ", "), nil
		} else {
			no = append(no, err.Error())
		}
	}
	return nil, "", fmt.Errorf("no directory for files of the job, which take up to %d MB: %s; make %s larger (docker run --shm-size), or let TMPDIR be a directory that has room and can be written",
		need>>20, strings.Join(no, ", "), bases[0])
}

// room returns how many bytes may be written where dir is.
func room(dir string) (int64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	return int64(s.Bavail) * s.Bsize, err
}

// removeScratch removes the directory when all that used it have ended, or been killed: one that was
// killed may still finish the system call it is in, and no other.
func removeScratch(dir string) {
	for tries := 0; os.RemoveAll(dir) != nil && tries < 100; tries++ {
	}
}

// makeScratch makes the directory of the job's starter, if that is to have one.
func (j *Job) makeScratch() error {
	if !j.spec.scratches() {
		return nil
	}
	d, why, err := newScratch(j.spec.Starter.Room, scratchBase, os.TempDir())
	if err != nil {
		return err
	}
	if j.scratch = d; why != "" {
		j.out.report("files of %s, which take up to %d MB, are in %s: %s", j.spec.starterName(), j.spec.Starter.Room>>20, d.path, why)
	}
	j.here.procs.dir = d.path
	j.execs[0].argv = j.spec.withScratch(j.execs[0].argv, d.path) // a Starter's ranks execute one program
	return nil
}
