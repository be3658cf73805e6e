package spawner

import (
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch implements ownHost.
func (h *local) launch() error {
	bindings, err := h.spec.bindings(len(h.ranks))
	if err != nil {
		return failure(statusSelf, "%v", err)
	}
	socket := ""
	if h.server != nil {
		socket = h.server.point.path
	}
	env, secret := h.environments(), hex.EncodeToString(h.secret)
	build := func(i int) (c command, err error) {
		rank := h.ranks[i]
		x := h.execs[rank]
		c = command{path: x.path, argv: h.spec.forRank(x.argv, rank), dir: x.Dir, cpus: bindings.of(i)}
		if h.spec.ReportBindings {
			h.say(fmt.Sprintf("rank %d %s", rank, bindings.describe(i)))
		}
		c.env = slices.Concat(env[x.number], h.spec.identityOf(rank, h.procs.job, socket, secret)) // which env has none of
		stdin, err := h.spec.input(rank)
		if err != nil {
			return c, failure(statusSelf, "rank %d: standard input: %v", rank, err)
		}
		stdout, stderr, err := h.attach(rank)
		if err != nil {
			stdin.Close()
			return c, failure(statusSelf, "rank %d: output: %v", rank, err)
		}
		c.files = []*os.File{stdin, stdout, stderr}
		return c, nil
	}
	if s := h.starter; s != nil {
		return h.procs.launch(build, func(_, pid int) {
			fd, err := unix.PidfdOpen(pid, 0) // here, where nobody has reaped it
			h.post(func() { s.began(pid, fd, err) })
		}, func(_ int, ws syscall.WaitStatus) { h.post(func() { s.ended(ws) }) })
	}
	return h.procs.launch(build, func(i, pid int) { h.post(func() { h.tell.began(h.ranks[i], pid) }) },
		func(i int, ws syscall.WaitStatus) { h.post(func() { h.exited(i, ws) }) })
}

// environments returns by program what all its ranks here have in their environment.
func (h *local) environments() map[int][]string {
	all := make(map[int][]string)
	for _, rank := range h.ranks {
		if x := h.execs[rank]; all[x.number] == nil {
			all[x.number] = mergeEnv(h.spec.inherited(), h.spec.settings(), h.spec.env(), x.Env)
		}
	}
	return all
}
