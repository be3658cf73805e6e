package vtime

// What a livelock is: the kernel has fired events for so long, all of which no proc has been woken by, that none is going to be. Both bounds are far beyond what models take: the longest transfer
// of a model without a wake-up takes seconds of virtual time, and time-outs of their hardware give up within seconds.
const (
	livelockEvents = 1 << 21      // at one point in time
	livelockTime   = 100 * Second // and more events than those
)

// livelock looks, every livelockEvents events, whether procs wait in vain though events fire for ever, such as retransmissions that nobody answers. It returns nil as long as a proc has been
// woken since the last look, computes, or is going to be woken. What a run does until then does not depend on it, nor does when it looks on anything but the events.
func (k *Kernel) livelock() *DeadlockError {
	k.look = k.fired + livelockEvents
	stands := k.looked == k.now
	k.looked = k.now
	if k.unended == 0 || k.fired-k.woken < livelockEvents {
		return nil
	}
	last := Time(0) // when a proc has parked
	for _, p := range k.procs {
		if p.ended || p.lost {
			continue
		}
		if !p.parked {
			return nil // it is in the queue
		}
		last = max(last, p.since)
	}
	if !stands && k.now-last < livelockTime {
		return nil
	}
	e := k.deadlock()
	e.Events = k.fired - k.woken
	return e
}
