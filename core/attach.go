package core

import (
	"fmt"
	"math"

	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// AttachSpec is what Job.Attach needs to know; the zero value attaches all ranks with the
// configured segment and no handlers.
type AttachSpec struct {
	// Segment is the size of this rank's segment, as for Config.Segment; "" takes the
	// configured one, "0" makes none. It may differ among ranks. What the launcher says
	// (aqrun --segment, AQUEDUCT_SEGMENT) wins over it: Endpoint.Segment has the size that came
	// of it.
	Segment string
	// SegmentLater attaches without a segment: Context.AttachSegment makes it, and Segment is not looked at.
	// It must be the same on all ranks of the job.
	SegmentLater bool
	// Extra is the number of bytes that the segment has beyond Segment, at its end, for a
	// layer above this package whose ranks reach it directly; rounded up to whole pages. It
	// may differ among ranks. Where there is no direct reach (Endpoint.Reaches), there is
	// none; Endpoint.Extra tells.
	Extra int
	// Handlers are registered before any message can arrive. Entries with index
	// AnyHandler get the lowest free index, upwards in table order (GASNet-1 rule).
	Handlers []HandlerEntry
	// Group lists the ranks to connect, the caller's included; nil is all. The ranks of a
	// job may form several disjoint groups, but all ranks attach at the same time.
	Group []Rank
}

// Attach makes the rank's endpoint: it connects to the ranks of the group, registers the
// handlers and creates the segment, unless that comes later. It is collective over the job, a
// barrier, and can succeed once. On an error the job cannot go on: return it.
func (j *Job) Attach(spec AttachSpec) (*Endpoint, error) {
	if j.ep.Load() != nil {
		return nil, &UsageError{j.rank, "Attach", "called twice"}
	}
	defer j.enter(attachCall, map[string]uint64{attachCall: 1})()
	drv, group, err := j.driver(spec.Group)
	if err != nil {
		return nil, err
	}
	var given settings.Table
	stated := func() settings.Table { given = drv.Table(j.profile); return given }
	if err := settings.Read(drv.Name, j.cfg.Settings, stated); err != nil {
		return nil, fmt.Errorf("core: rank %d: %w", j.rank, err)
	}
	ep := j.newEndpoint(drv, group)
	if err := ep.makeState(); err != nil {
		return nil, err
	}
	plan, err := j.plan(ep.conduit, group)
	if err != nil {
		return nil, err
	}
	u := &unattached{footprint: plan.Footprint, limit: plan.segmentLimit()}
	ep.reaches, u.extra = j.reach(&plan, spec.Extra)
	need := memory{segmentLater, plan.Footprint}
	if !spec.SegmentLater {
		if need, err = u.need(j, spec.Segment); err != nil {
			return nil, err
		}
	}
	if err := ep.table.register(spec.Handlers, ClientHandlers, true); err != nil {
		return nil, ep.Misuse("Attach", "%v", err)
	}
	if err := ep.meet(need, given.Shared(), stated); err != nil {
		return nil, err
	}
	if err := ep.open(); err != nil {
		return nil, err
	}
	j.ep.Store(ep) // from now on who releases the job closes the conduit
	if j.failure() != nil && j.proc == nil {
		ep.end() // the failure came before the endpoint was known
	}
	ep.sizes = ep.attached
	if spec.SegmentLater {
		ep.later = u
	} else if err := ep.bind(ep.attached); err != nil {
		return nil, err
	} else {
		ep.extra = u.extra
	}
	if err := j.boot.Barrier(); err != nil {
		return nil, err
	}
	return ep, nil
}

// driver returns the driver of the job's conduit, which can connect the ranks, and the ranks as a group.
// From then on the job's profile is known.
func (j *Job) driver(ranks []Rank) (drv *Driver, group []Rank, err error) {
	if drv, err = driverOf(j.cfg.Conduit); err != nil {
		return drv, nil, err
	}
	if j.proc == nil { // a model's profile was found when the job started
		if j.profile, err = drv.LiveProfile(j.profile); err != nil {
			return drv, nil, err
		}
	}
	if group, err = j.group(ranks); err != nil {
		return drv, nil, err
	}
	if drv.Check != nil && j.stepped == nil { // the model's process has what a model needs
		if err := drv.Check(j.boot, group); err != nil {
			return drv, nil, fmt.Errorf("core: rank %d: conduit %s cannot be used: %w", j.rank, drv.Name, err)
		}
	}
	return drv, group, nil
}

func (j *Job) newEndpoint(drv *Driver, group []Rank) *Endpoint {
	ep := &Endpoint{
		job: j, conduit: j.newConduit(drv), proc: j.proc, roster: &roster{group: group}, bell: -1,
		single: j.cfg.Threads == Single || j.proc != nil,
		debug:  j.cfg.Debug,
		shared: j.local,
		idle:   idleTimes{sleep: j.cfg.Sleep},
	}
	ep.peers.Init(j.size)
	ep.Context = Context{ep: ep}
	if j.proc == nil {
		ep.turn = make(chan struct{}, 1)
	} else {
		j.proc.Explain(func(op string) Place { return ep.place(ep.poller.waiting(op, 0)) })
	}
	ep.poller, ep.carrier = &ep.Context, &Context{ep: ep}
	ep.token.ep, ep.port.ep = ep, ep
	ep.barrier.least = math.MaxUint64
	if len(group) < j.size {
		ep.barrier.group = group
	}
	ep.detour = j.proc != nil
	if j.cfg.watched() {
		ep.beWatched()
	}
	ep.table.set(HandlerEntry{Index: barrierHandler, Func: ep.barrier.onBarrier, Name: "core barrier"})
	ep.table.set(HandlerEntry{Index: finalHandler, Func: ep.barrier.onFinal, Name: "core final barrier"})
	return ep
}

// open attaches the conduit.
func (ep *Endpoint) open() error {
	j := ep.job
	var err error
	if j.proc == nil {
		if ep.bell, err = shm.NewBell(); err != nil {
			return fmt.Errorf("core: rank %d: eventfd: %w", j.rank, err)
		}
	}
	if !ep.single && !shm.RegisterMembarrier() {
		ep.state.Over = 1
		ep.progress.share(ep)
	}
	a := j.attachment(ep.group)
	a.Port, a.Crowded = &ep.port, ep.idle.crowded
	if ep.watch != nil {
		if err = ep.watch.open(j.boot); err != nil {
			return err
		}
	}
	if err = ep.conduit.Attach(a); err != nil {
		j.failed = ep
		return fmt.Errorf("core: rank %d: attach conduit %s: %w", j.rank, j.cfg.Conduit, err)
	}
	ep.powers = ep.conduit.Powers()
	if ep.sleeper = ep.conduit.Sleeper(); ep.idle.crowded && ep.sleeper != nil && ep.sleeper.FD() < 0 {
		ep.idle.sleep = min(ep.idle.sleep, crowdedIdle)
	}
	if ep.proc != nil {
		ep.idler = ep.powers.Idler
	} else {
		ep.spinner = ep.powers.Spinner
	}
	if j.cfg.NoNative {
		ep.powers.Putter, ep.powers.Getter, ep.powers.Atomics, ep.powers.Collectives = nil, nil, nil, nil
	}
	if ep.watch != nil {
		ep.watch.stand(&ep.powers)
	}
	ep.state.Hot = uint32(ep.idle.hot)
	ep.most = nativeSizesOf(&ep.powers)
	ep.reaches = ep.reaches && ep.powers.Reacher != nil
	return nil
}

// attachment returns what the conduit is told before there are segments.
func (j *Job) attachment(group []Rank) *Attachment {
	a := &Attachment{Boot: j.boot, Group: group, Settings: j.cfg.Settings, Threads: j.cfg.Threads, Foreign: j.foreign()}
	if j.proc != nil {
		a.Threads = Single
	}
	if c, ok := j.proc.(*coroutine); ok {
		a.Proc = c.Proc
	}
	return a
}

// plan asks a conduit what it will need.
func (j *Job) plan(c Conduit, group []Rank) (Plan, error) {
	p, err := c.Plan(j.attachment(group))
	if err != nil {
		return p, fmt.Errorf("core: rank %d: attach conduit %s: %w", j.rank, j.cfg.Conduit, err)
	}
	return p, nil
}

// reach returns whether ranks may reach each other's segments, and how many bytes segments then have
// beyond their size, of which extra were asked for.
func (j *Job) reach(p *Plan, extra int) (reaches bool, bytes int) {
	if !p.Reach || j.proc != nil || j.cfg.NoReach {
		return false, 0
	}
	return true, shm.RoundUp(max(0, extra))
}

// segmentLimit returns the bytes of the largest segment that the conduit can make.
func (p *Plan) segmentLimit() int {
	if p.MaxSegment == 0 {
		return math.MaxInt
	}
	return shm.RoundDown(p.MaxSegment)
}

// Misuse makes the error of a call that breaks a rule, of this package or of a layer above;
// in debug mode it ends the job. A handler may call it.
func (ep *Endpoint) Misuse(op, format string, args ...any) error {
	err := &UsageError{ep.job.rank, op, fmt.Sprintf(format, args...)}
	if ep.debug {
		ep.job.abort(err)
	}
	return err
}
