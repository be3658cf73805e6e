package amii

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// DMALimit returns the MB/s at which the host DMA engine of a NIC that does nothing else moves transfers of so many bytes, one after the
// other.
func DMALimit(p *Profile, way lanai.Direction, size int) (float64, error) {
	if size < 1 {
		return 0, fmt.Errorf("amii: transfers of %d bytes", size)
	}
	const transfers = 100
	s := vtime.NewSimulation(1)
	nic := lanai.New(&s.Loop, &p.Profile, p.Fabric.Link.Rate)
	if err := nic.CPU.Load([]lanai.Handler{{Name: "done", Run: func() {}}}); err != nil {
		return 0, err
	}
	chain, err := nic.DMA.Open(0, "limit", transfers, 0)
	if err != nil {
		return 0, err
	}
	host, sram := make([]byte, size), make([]byte, size)
	end := new(stamp)
	end.loop = &s.Loop
	for range transfers {
		if err := chain.Append(lanai.Block{Direction: way, Host: host, SRAM: sram, Terminal: true, Written: end}); err != nil {
			return 0, err
		}
		if err := chain.Start(); err != nil {
			return 0, err
		}
	}
	s.RunUntil(vtime.Second)
	if chain.Finished() < transfers {
		return 0, fmt.Errorf("amii: %d of %d transfers of %d bytes within a second", chain.Finished(), transfers, size)
	}
	return float64(size*transfers) / (float64(end.at) / float64(vtime.Microsecond)), nil
}

// stamp notes when it was fired last.
type stamp struct {
	loop *vtime.Loop
	at   vtime.Time
}

// Fire implements vtime.Target.
func (s *stamp) Fire(_, _ uint64) { s.at = s.loop.Now() }

// OneWay returns the mean time of a request with so many bytes of data, one at a time, from the call that posts it until it is in the
// queues of the receiver's endpoint, whose process waits for it.
func OneWay(p *Profile, seed uint64, size, requests int) (vtime.Time, error) {
	k := vtime.New(seed)
	var all []*Endpoint
	came := 0
	c, err := NewStar(&k.Loop, p, 2)
	if err == nil {
		all, err = c.Program("one way", 1, amfamily.Image{func(amfamily.Node, *amfamily.Message) { came++ }}, nil)
	}
	if err != nil {
		return 0, err
	}
	var posted, sum vtime.Time
	data := make([]byte, size)
	err = amfamily.Run(k, all, func(e *Endpoint) error {
		pauses := k.Rand("amii.pauses")
		for i := range requests {
			if e.ID() == 0 { // the other one has taken the request before, and waits again
				e.Proc().Charge(vtime.Millisecond + vtime.Time(pauses.Int64N(int64(vtime.Microsecond))))
				e.Proc().Sync()
				posted = e.Proc().Now()
				if err := e.Request(1, 0, [amfamily.Args]uint32{}, data); err != nil {
					return err
				}
				continue
			}
			for e.Waiting() == 0 {
				e.Proc().SetWaiting("a request")
				e.Proc().Park(0)
			}
			sum += e.Proc().Now() - posted
			if err := amfamily.Wait(e, "its handler", func() bool { return came == i+1 }); err != nil {
				return err
			}
		}
		return nil
	})
	return sum / vtime.Time(max(1, requests)), err
}

// Bulk returns the mean time from one message of bulk to the next, and what has happened at the two hosts: so many messages of so
// many bytes go to the receiver's segment as fast as its endpoint takes them. Messages before and after those do not count.
func Bulk(p *Profile, seed uint64, size, messages int) (vtime.Time, [2]Counts, error) {
	const warm, cool = 16, 16
	var counts [2]Counts
	if size < 1 || messages < 1 {
		return 0, counts, fmt.Errorf("amii: %d messages of %d bytes", messages, size)
	}
	k := vtime.New(seed)
	came := 0
	var first, last vtime.Time
	image := amfamily.Image{func(n amfamily.Node, _ *amfamily.Message) {
		switch came++; came {
		case warm:
			first = n.Proc().Now()
		case warm + messages:
			last = n.Proc().Now()
		}
	}}
	var all []*Endpoint
	c, err := NewStar(&k.Loop, p, 2)
	if err == nil {
		all, err = c.Program("bulk", 1, image, func(_ int, o *Options) { o.Segment = make([]byte, size) })
	}
	if err != nil {
		return 0, counts, err
	}
	data := make([]byte, size)
	err = amfamily.Run(k, all, func(e *Endpoint) error {
		if e.ID() == 1 {
			return amfamily.Wait(e, "the stream", func() bool { return came == warm+messages+cool })
		}
		for range warm + messages + cool {
			if err := e.Bulk(1, 0, [amfamily.Args]uint32{}, data, 0); err != nil {
				return err
			}
		}
		return nil
	})
	for i, h := range c.Hosts {
		counts[i] = h.Counts()
	}
	return (last - first) / vtime.Time(messages), counts, err
}
