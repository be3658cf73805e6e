package spawner

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/mtls"
	"github.com/aqueduct-go/aqueduct/internal/plural"
	"golang.org/x/sys/unix"
)

// This file is how a Job whose ranks are on several hosts begins and ends with their agents.

// statusLost is the status of a job that has lost a host: its ranks are killed.
const statusLost = 128 + int(unix.SIGKILL)

// hire prepares the agents that the Job starts itself, and starts what is to connect them.
func (j *Job) hire() error {
	root, err := j.spec.tree()
	if err != nil {
		return err
	}
	agent, err := j.spec.Launch.agent()
	if err != nil {
		return err
	}
	j.far = &children{loop: j.loop, of: root, tell: j, program: agent[0], link: j.spec.Launch.link, group: &j.group}
	if err := j.summon(agent); err != nil {
		return err
	}
	if err := j.far.hire(); err != nil {
		return err
	}
	if j.guard, err = startGuard(root.Job, "", 0); err != nil { // while agents start
		return err
	}
	j.far.guardedBy(j.guard)
	for _, h := range j.far.links {
		j.hosts = append(j.hosts, h)
	}
	return j.far.assign(j.spec.HostOf, &j.out.group, j.out.streams)
}

// summon makes ready to start agents together, if the launcher does that.
func (j *Job) summon(agent []string) error {
	l, err := j.spec.Launch.launcher(j.spec.Hosts)
	if err != nil || l.Together == nil {
		return err
	}
	s := summon{job: j.far.of.Job, key: mtls.NewKey()}
	env := []string{envAgentKey + "=" + hex.EncodeToString(s.key[:])}
	if file := j.spec.Launch.KeyFile; file != "" {
		if s.key, err = mtls.ReadKey(file); err != nil {
			return failure(statusSelf, "%v", err)
		}
		env = nil
	}
	d, err := newDoor(s.key, s.job, j.spec.Hosts, func(why string) { j.post(func() { j.refused(why) }) })
	if err != nil {
		return failure(statusSelf, "agents cannot connect: %v", err)
	}
	if j.spec.Verbose {
		d.came = func(host int, from string) {
			j.post(func() { j.out.report("host %s: its agent has come from %s", j.spec.Hosts[host], from) })
		}
	}
	j.far.door, j.far.link = d, d.link
	if s.at, err = addressesAt(d.port()); err != nil {
		return failure(statusSelf, "agents cannot connect: %v", err)
	}
	command := l.Together(j.spec.Hosts, slices.Concat(agent, s.arguments(j.spec.Launch.KeyFile)))
	if command[0], err = j.far.of.find(command[0]); err != nil {
		return err
	}
	j.far.summoner, err = newSummoner(command, env)
	return err
}

// launchFar has the agents of all hosts start their ranks.
func (j *Job) launchFar(ctx context.Context) error {
	names := j.spec.Hosts
	settle := func(all report) error { // which says less of hosts that nobody waits for any more
		err := all.sorted(names)
		if err != nil && ctx.Err() != nil {
			err = failure(statusSelf, "%v, with no answer yet from %s", context.Cause(ctx), plural.List(all.failing(names), "host", "hosts"))
		}
		return err
	}
	all := j.far.meet(ctx)
	if err := j.far.summoned(settle(all)); err != nil {
		return err
	}
	j.far.summoner.report(func(line string) { j.post(func() { j.out.report("%s: %s", j.far.of.Launcher, line) }) })
	if err := all.compare("the launcher is not the same build", names, func(a answer) string { return a.Build }); err != nil {
		return err
	}
	if err := j.distinct(all); err != nil {
		return err
	}
	t, err := j.spec.task()
	if err != nil {
		return failure(statusSelf, "%v", err)
	}
	all = j.far.ask(ctx, wordTask, marshal(t))
	if err := settle(all); err != nil {
		return err
	}
	for rank, x := range j.execs {
		if rank > 0 && x == j.execs[rank-1] {
			continue
		}
		if err := all.compare(fmt.Sprintf("program %s is not the same", x.Prog), names, func(a answer) string { return a.Programs[x.number] }); err != nil {
			return err
		}
	}
	all = j.far.ask(ctx, wordLaunch, nil)
	if err := settle(all); err != nil {
		return err
	}
	if j.spec.Stdin != nil {
		go j.spec.inputTo(j.far.via[j.spec.HostOf[0]])
	}
	return nil
}

// distinct refuses two names of one host: its ranks would be on two, and far from each other.
func (j *Job) distinct(all report) error {
	l, err := j.spec.Launch.launcher(j.spec.Hosts)
	if err != nil || l.Pretends || j.spec.Launch.ByName {
		return err
	}
	names := make(map[string]string)
	for _, a := range all {
		name := j.spec.Hosts[a.Host]
		if first, ok := names[a.Identity]; ok {
			return failure(statusSelf, "%s and %s are one host, with the same kernel, namespaces and /dev/shm; name it once, with the slots of both, or have hosts told apart by name, with --host-id name (Launch.ByName)", first, name)
		}
		names[a.Identity] = name
	}
	return nil
}

// notice implements jobEvents.
func (j *Job) notice(w word, host int, text string) {
	name := j.spec.Hosts[host]
	switch w {
	case wordRefused:
		j.refused(text + " on host " + name)
	case wordFailed:
		j.failed(fmt.Errorf("%s on host %s", text, name))
	case wordSaid:
		j.out.report("host %s: %s", name, text)
	case wordLost:
		j.end(statusLost, fmt.Sprintf("host %s is lost: %s", name, text))
	}
}

// inquire has what agents hold back told, and then calls the function, on the loop. What a rank does is told at once
// if it may decide how the job ends.
func (j *Job) inquire(then func()) {
	if j.far == nil {
		then()
		return
	}
	j.wanted++
	j.untold = append(j.untold, then)
	j.far.inquire(j.wanted)
	j.checkTold()
}

// told implements jobEvents.
func (j *Job) told(h *remote, number uint32) {
	h.told = number
	j.checkTold()
}

// checkTold calls what waits for what agents held back, if that is told.
func (j *Job) checkTold() {
	if j.far.told(j.wanted) {
		j.callUntold()
	}
}

// callUntold calls what waits for what agents held back.
func (j *Job) callUntold() {
	all := j.untold
	j.untold = nil
	for _, then := range all {
		then()
	}
}

// parting has agents hold back no collective calls any more: a rank is gone, and none of them will be complete.
func (j *Job) parting() {
	if !j.parted && !j.verdict.ending {
		j.parted = true
		j.inquire(func() {})
	}
}

// dismiss lets the agents go, when the job is over or could not begin, and waits for what has connected them, and for the guard of that.
func (j *Job) dismiss() {
	if j.far != nil {
		j.far.dismiss()
	}
	if j.guard != nil {
		j.guard.stop()
		j.guard = nil
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
		for _, h := range j.far.links {
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
	for _, h := range j.far.links {
		h.trunk.resume()
	}
}
