package spawner

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"golang.org/x/sys/unix"
)

// This file is how a Job whose ranks are on several hosts begins and ends with their agents.

// statusLost is the status of a job that has lost a host: its ranks are killed.
const statusLost = 128 + int(unix.SIGKILL)

// hire prepares the agents of all hosts and starts what is to connect them.
func (j *Job) hire() error {
	all, err := j.spec.starts()
	if err != nil {
		return err
	}
	j.hired = make(chan struct{})
	var carriers []*carrier
	for i, a := range all {
		c, rw, theirs, err := newCarrier(a.argv)
		if err != nil {
			return err
		}
		for _, f := range theirs {
			defer f.Close()
		}
		h := &remote{
			loop: j.loop, name: j.spec.Hosts[i], ranks: placement(j.spec.HostOf).on(i), tell: j,
			carry: c, push: a.push, trunk: newTrunk(rw), answers: make(chan answer, 1), input: newCredit(),
		}
		j.far, j.hosts, carriers = append(j.far, h), append(j.hosts, h), append(carriers, c)
		if err := h.collect(j.out); err != nil {
			return err
		}
	}
	return startCarriers(carriers, j.hired)
}

// launchFar has the agents of all hosts start their ranks.
func (j *Job) launchFar(ctx context.Context) error {
	if err := j.meet(ctx); err != nil {
		return err
	}
	name := hex.EncodeToString(fresh(8))
	err := j.each(func(i int, h *remote) (err error) {
		t, err := j.spec.task(i, name)
		if err == nil {
			h.trunk.sendJSON(wordTask, t)
			h.build, err = h.ask()
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := j.compare(fmt.Sprintf("program %s is not the same", j.spec.Prog), func(h *remote) string { return h.build }); err != nil {
		return err
	}
	if err := j.each(func(_ int, h *remote) error { return h.launch() }); err != nil {
		return err
	}
	if h := j.far[j.spec.HostOf[0]]; j.spec.Stdin != nil {
		go j.spec.inputTo(h)
	}
	return nil
}

// meet waits for the agents of all hosts.
func (j *Job) meet(ctx context.Context) error {
	limit := j.spec.Launch.timeout()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("its agent has not answered within %v", limit))
	defer cancel()
	err := j.each(func(_ int, h *remote) error {
		uncut := context.AfterFunc(ctx, h.trunk.cut)
		err := h.meet(pulse)
		if !uncut() && err != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			err = h.carry.fail(err, ctx.Err() != nil)
			if line := h.trunk.skipped(); line != "" {
				err = fmt.Errorf("%w; its output ended with %.200q", err, line)
			}
			return err
		}
		h.carry.report(func(line string) { j.post(func() { j.out.report("host %s: %s", h.name, line) }) })
		j.group.Go(h.listen)
		return nil
	})
	if err != nil {
		return err
	}
	return j.compare("the launcher is not the same build", func(h *remote) string { return h.me.Build })
}

// compare refuses hosts of which something differs.
func (j *Job) compare(what string, of func(*remote) string) error {
	first := j.far[0]
	for _, h := range j.far[1:] {
		if of(h) != of(first) {
			return failure(statusSelf, "%s on hosts %s and %s (%s, %s); copy one to the other", what, first.name, h.name, of(first), of(h))
		}
	}
	return nil
}

// each calls the function for all hosts at once. The error names those for which it fails.
func (j *Job) each(f func(i int, h *remote) error) error {
	errs := make([]error, len(j.far))
	var group sync.WaitGroup
	for i, h := range j.far {
		group.Go(func() { errs[i] = f(i, h) })
	}
	group.Wait()
	const most = 8
	status, failed := 0, 0
	var text strings.Builder
	for i, err := range errs {
		if err == nil {
			continue
		}
		if failed++; failed == 1 {
			status = statusOfFailure(err)
		}
		if failed <= most {
			fmt.Fprintf(&text, "; host %s: %s", j.far[i].name, strings.TrimPrefix(err.Error(), "spawner: "))
		}
	}
	if failed > most {
		fmt.Fprintf(&text, "; and %d hosts more", failed-most)
	}
	if failed == 0 {
		return nil
	}
	return failure(status, "%s", strings.TrimPrefix(text.String(), "; "))
}

// statusOfFailure returns the status that an error has, or that of a launcher that has failed.
func statusOfFailure(err error) int {
	if x := (*core.ExitError)(nil); errors.As(err, &x) {
		return x.Status
	}
	return statusSelf
}

// asFailure returns the error as one with a status.
func asFailure(err error) error {
	if x := (*core.ExitError)(nil); errors.As(err, &x) {
		return err
	}
	return failure(statusSelf, "%v", err)
}

// lost ends the job because a host is out of reach. Its ranks count as killed. A host that was let go is not lost.
func (j *Job) lost(h *remote, why error) {
	if j.hired == nil {
		return
	}
	j.end(statusLost, fmt.Sprintf("host %s is lost: %v", h.name, why))
	for _, rank := range h.ranks {
		m := &j.members[rank]
		if m.joined && !m.lost {
			m.lost = true
			j.linked--
		}
		if !m.exited {
			m.exited, m.ws = true, syscall.WaitStatus(unix.SIGKILL)
			j.running--
		}
		j.located(rank, nil)
	}
}

// dismissTime is how long agents may take to end when the job is over: longer than what they wait for ranks that they
// kill.
const dismissTime = killTime + time.Second

// dismiss lets the agents go, when the job is over or could not begin, and waits for what has connected them.
func (j *Job) dismiss() {
	if j.hired == nil {
		return
	}
	for _, h := range j.far {
		h.trunk.close()
		h.input.close()
		for _, f := range h.flows {
			f.close()
		}
	}
	limit := time.NewTimer(dismissTime)
	defer limit.Stop()
	for _, h := range j.far {
		if h.carry.cmd.Process != nil {
			select {
			case <-h.carry.ended:
			case <-limit.C:
				h.carry.cmd.Process.Kill()
				limit.Reset(0)
			}
		}
	}
	close(j.hired)
	j.hired = nil
	for _, h := range j.far {
		if h.carry.cmd.Process != nil {
			<-h.carry.ended
		}
		h.trunk.cut()
		h.trunk.group.Wait()
	}
}

// inputTo sends standard input to the host of rank 0, until its end or that of the job; that is noticed when Read
// returns.
func (s *Spec) inputTo(h *remote) { sendInput(s.Stdin, h.trunk, h.input) }

// Pause tells the agents of the job's hosts that this process is about to stop, and not lost. It returns
// when they are told, or after a second. Until Resume nothing goes to them.
func (j *Job) Pause() {
	told := done(func() {
		var group sync.WaitGroup
		for _, h := range j.far {
			group.Go(h.trunk.pause)
		}
		group.Wait()
	})
	select {
	case <-told:
	case <-time.After(time.Second):
	}
}

// Resume ends a pause.
func (j *Job) Resume() {
	for _, h := range j.far {
		h.trunk.resume()
	}
}
