package myrinet

import (
	"slices"
	"sync"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// watched is rank 0 of the last job over the conduit watched-myrinet, or another one that has been made first.
var watched *conduit

func init() {
	drivers := core.Drivers()
	d := drivers[slices.IndexFunc(drivers, func(d core.Driver) bool { return d.Name == "myrinet" })]
	d.Name, d.New = "watched-myrinet", func(machine string) core.Conduit {
		watched = &conduit{machine: machine}
		return watched
	}
	core.Register(d)
}

// Done returns what the firmware of each host has done in the last job over watched-myrinet. Hosts without a NIC are left out.
func Done() map[string]grim.Counts {
	done := map[string]grim.Counts{}
	for i, h := range watched.site.hosts {
		if h != nil {
			done[watched.site.fabric.Topology().Hosts[i]] = h.Counts()
		}
	}
	return done
}

// counted is the ranks of the live job over counted-myrinet that runs.
var counted struct {
	sync.Mutex
	ranks []*live
}

func init() {
	d, err := core.DriverByName("myrinet")
	if err != nil {
		panic(err)
	}
	d.Name, d.New = "counted-myrinet", func(string) core.Conduit {
		c := newLive()
		counted.Lock()
		counted.ranks = append(counted.ranks, c)
		counted.Unlock()
		return c
	}
	core.Register(d)
}

// CardCounts is what a NIC has done.
type CardCounts = cardCounts

// Counted has a live job of goroutines over counted-myrinet run, and then forgets its ranks.
func Counted(run func()) {
	defer func() { counted.ranks = nil }()
	run()
}

// Cards returns what the NICs of the hosts have done so far in the job that Counted runs, and whether none of them has anything to do that has come. All ranks have attached.
func Cards() (done map[string]CardCounts, idle bool) {
	counted.Lock()
	defer counted.Unlock()
	done, idle = map[string]CardCounts{}, true
	for _, c := range counted.ranks {
		if c.own != nil {
			node, _ := c.site.place(c.rank)
			done[c.site.shape.Hosts[node]] = c.own.counts()
			c.own.loop.Do(func() { idle = idle && !c.own.ready() })
		}
	}
	return done, idle
}

// Asleep reports whether a rank of the job that Counted runs says that it sleeps.
func Asleep(r core.Rank) bool {
	counted.Lock()
	defer counted.Unlock()
	i := slices.IndexFunc(counted.ranks, func(c *live) bool { return c.rank == r })
	return shm.Load32(counted.ranks[i].in.asleep) != 0
}

// DeviceFails returns the failure of a device without a block in its memory that takes a message.
func DeviceFails(m *grim.Message) (failure error) {
	d := &device{memory: make([]byte, deviceBlock), block: make([]byte, deviceBlock), fail: func(err error) { failure = err }}
	d.take(nil, m)
	return failure
}
