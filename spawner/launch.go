package spawner

import (
	"encoding/hex"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// listen opens the rendezvous point.
func (j *Job) listen() error {
	point, err := listen()
	if err != nil {
		return err
	}
	j.server = &server{
		point: point, secret: j.secret, size: j.spec.N, uid: os.Geteuid(), patience: patience,
		joined:  j.admit,
		entered: j.admitEntry,
		refused: func(reason string) { j.post(func() { j.refused(reason) }) },
		ours:    func(pid, group int) bool { return j.spec.started() || j.procs.own(pid, group) },
		failed:  func(err error) { j.post(func() { j.end(statusSelf, err.Error()) }) },
	}
	j.server.start()
	return nil
}

// launch starts the processes.
func (j *Job) launch(path string, argv []string) error {
	var cpus []int
	if j.spec.Bind == BindCore {
		var err error
		if cpus, err = allowedCPUs(); err != nil {
			return failure(statusSelf, "%v", err)
		}
	}
	if j.spec.scratches() {
		d, why, err := newScratch(j.spec.Starter.Room, scratchBase, os.TempDir())
		if err != nil {
			return failure(statusSelf, "%v", err)
		}
		if j.scratch = d; why != "" {
			j.out.report("files of %s, which take up to %d MB, are in %s: %s", j.spec.starterName(), j.spec.Starter.Room>>20, d.path, why)
		}
		j.procs.dir = j.scratch.path
		argv = j.spec.withScratch(argv, j.scratch.path)
	}
	socket := ""
	if j.server != nil {
		socket = j.server.point.path
	}
	env, secret := mergeEnv(j.spec.inherited(), j.spec.settings(), j.spec.env()), hex.EncodeToString(j.secret)
	build := func(rank int) (c command, err error) {
		c = command{path: path, argv: j.spec.forRank(argv, rank), dir: j.spec.Dir, cpu: -1}
		if len(cpus) > 0 {
			c.cpu = cpus[rank%len(cpus)]
		}
		c.env = slices.Concat(env, j.spec.identityOf(rank, j.procs.job, socket, secret)) // which env has none of
		stdin, err := j.spec.input(rank)
		if err != nil {
			return c, failure(statusSelf, "rank %d: standard input: %v", rank, err)
		}
		stdout, stderr, err := j.out.attach(rank)
		if err != nil {
			stdin.Close()
			return c, failure(statusSelf, "rank %d: output: %v", rank, err)
		}
		c.files = []*os.File{stdin, stdout, stderr}
		return c, nil
	}
	began := func(rank, pid int) {
		if j.spec.started() {
			fd, err := unix.PidfdOpen(pid, 0) // here, where nobody has reaped it
			j.post(func() { j.starterBegan(fd, err) })
		}
		if j.spec.Verbose {
			who := j.name(rank)
			if j.spec.started() {
				who = j.spec.starterName()
			}
			j.out.report("%s is process %d: %s", who, pid, quote(j.spec.forRank(argv, rank)))
		}
	}
	return j.procs.launch(build, began, func(rank int, ws syscall.WaitStatus) {
		j.post(func() {
			if j.spec.started() {
				j.starterEnded(ws)
			} else {
				j.exited(rank, ws)
			}
		})
	})
}
