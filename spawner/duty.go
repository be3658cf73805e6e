package spawner

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// This file is what an agent does when it is told to. What takes its time runs beside its loop (see agent.do): grow, take, launch.

// grow starts the agents below.
func (a *agent) grow() report {
	me, err := introduce()
	if err == nil {
		err = a.below.hire()
	}
	if err == nil && a.process { // while those below start
		if a.guard, err = startGuard(a.job(), "", a.branch.Pulse); err == nil {
			a.below.guardedBy(a.guard)
		}
	}
	if err != nil {
		return a.answer(me, err)
	}
	return append(a.below.meet(a.ctx), a.answer(me, nil)...)
}

// take makes ready to start the processes of this host, and has those below do so. The text is the task as it came.
func (a *agent) take(text []byte) report {
	ranks := a.task.Placement.on(a.branch.Host)
	err := a.below.assign(a.task.Placement, &a.pipes.group, func(rank int) (out, errs *stream, err error) {
		return &stream{rank: rank, to: a.flows[channelOut]}, &stream{rank: rank, to: a.flows[channelErr]}, nil
	})
	if err == nil && (len(ranks) == 0 || len(a.task.Placement) != a.task.N) {
		err = failure(statusSelf, "the task places no rank here")
	}
	if err != nil {
		return a.answer(answer{}, err)
	}
	var below report
	asked := done(func() { below = a.below.ask(a.ctx, wordTask, text) })
	host, builds, err := a.prepare(a.task, ranks)
	<-asked
	a.post(func() { a.employ(host, ranks) })
	return append(below, a.answer(answer{Programs: builds}, err)...)
}

// employ takes charge of the ranks of this host, unless there is none for want of something, and of those below.
func (a *agent) employ(own ownHost, ranks []int) {
	for _, h := range a.below.links {
		a.hosts = append(a.hosts, h)
		for _, c := range h.crew.all {
			ranks = append(ranks, c.rank)
		}
	}
	if a.host = own; own != nil {
		a.hosts = append(a.hosts, own)
	}
	a.running = len(ranks)
	a.tidings.of(ranks)
}

// prepareHere makes all that the processes of this host need.
func (a *agent) prepareHere(o *task, ranks []int) (own ownHost, builds map[int]string, err error) {
	for _, setting := range o.Passed {
		name, value, _ := strings.Cut(setting, "=")
		os.Setenv(name, value)
	}
	a.spec = Spec{
		N: o.N, Env: o.Env, Prefix: o.Prefix, HostOf: o.Placement,
		Conduit: o.Conduit, Profile: o.Profile, Segment: o.Segment, Bind: o.Bind, ReportBindings: o.ReportBindings, Grace: o.Grace,
	}
	for _, p := range o.Programs {
		a.spec.Programs = append(a.spec.Programs, Program{N: p.N, Prog: string(p.Prog), Args: p.Args, Env: p.Env, Dir: string(p.Dir)})
	}
	a.pipes.lineWait = o.LineWait
	if o.Input && ranks[0] == 0 {
		a.spec.Stdin = a.input
	}
	if err := checkCount(o.N, len(ranks)+len(a.below.links)); err != nil {
		return nil, nil, failure(statusSelf, "%v", err)
	}
	if err := a.spec.checkPrograms(); err != nil {
		return nil, nil, err
	}
	execs, err := a.spec.executions()
	if err != nil {
		return nil, nil, err
	}
	if err := a.spec.resolve(execs, ranks); err != nil {
		return nil, nil, err
	}
	builds = make(map[int]string)
	for _, rank := range ranks {
		x := execs[rank]
		if builds[x.number] != "" {
			continue
		}
		if builds[x.number], err = x.build(); err != nil {
			return nil, nil, failure(statusExec, "%v", err)
		}
	}
	here := newLocal(a.loop, &a.spec, a.job(), ranks, a)
	here.say = func(line string) { a.post(func() { a.notice(wordSaid, a.branch.Host, line) }) }
	here.execs, here.attach, here.hostOf = execs, a.attach, o.Placement
	here.procs.guard, here.room = a.guard, a.trunk.awaitRoom
	if err := here.listen(); err != nil {
		return nil, nil, failure(statusSelf, "%v", err)
	}
	a.here = here
	return here, builds, nil
}

// attach makes the pipes for a rank's output.
func (a *agent) attach(rank int) (stdout, stderr *os.File, err error) {
	return a.pipes.open(&stream{rank: rank, to: a.flows[channelOut]}, &stream{rank: rank, to: a.flows[channelErr]})
}

// launch starts the processes, here and below.
func (a *agent) launch() report {
	var below report
	asked := done(func() { below = a.below.ask(a.ctx, wordLaunch, nil) })
	err := errors.New("it has nothing to launch")
	if a.host != nil {
		err = a.host.launch()
	}
	<-asked
	all := append(below, a.answer(answer{}, err)...)
	a.post(func() {
		if err != nil {
			a.done = true // nothing is left of it
		}
		if a.launched = !all.failed(); a.launched {
			a.passInput()
			a.check()
		}
	})
	return all
}

// passInput passes on standard input to rank 0 if that is below.
func (a *agent) passInput() {
	if h := a.below.via[a.task.Placement[0]]; h != nil && a.task.Input {
		go sendInput(a.input, h.trunk, h.input)
	}
}

// hostOf returns where a rank is, nil if it is not here or below.
func (a *agent) hostOf(rank int) host {
	if rank < 0 || rank >= len(a.task.Placement) {
		return nil
	}
	n := a.task.Placement[rank]
	if h := a.below.via[n]; h != nil {
		return h
	}
	if n != a.branch.Host || a.host == nil {
		return nil
	}
	return a.host
}

// at returns what calls the function for the host of a rank, if that is here or below.
func (a *agent) at(rank int, f func(h host)) func() {
	return func() {
		if h := a.hostOf(rank); h != nil {
			f(h)
		}
	}
}

// signal returns what sends a signal to a rank or all.
func (a *agent) signal(rank uint32, sig syscall.Signal) func() {
	if rank != everyRank {
		return a.at(int(rank), func(h host) { h.signal(int(rank), sig) })
	}
	return func() {
		for _, h := range a.hosts {
			h.signalAll(sig)
		}
	}
}

// broadcast passes frames on: to those below as they come, to the ranks here when all that belong together are there.
func (a *agent) broadcast(frames []byte, more bool) {
	for _, h := range a.below.links {
		h.pass(frames, more)
	}
	a.partial = append(a.partial, frames...)
	if more {
		return
	}
	a.renew()
	if a.host != nil {
		a.host.broadcast(a.partial)
	}
	a.partial = nil
}

// deal has all hosts pass descriptors on.
func (a *agent) deal() {
	a.renew()
	for _, h := range a.hosts {
		h.deal()
	}
}

// conclude tells all ranks how the job ends.
func (a *agent) conclude(frame []byte) {
	a.concluded = true
	for _, h := range a.hosts {
		h.conclude(frame)
	}
	for _, rank := range a.ranks {
		a.hangUp(rank)
	}
}
