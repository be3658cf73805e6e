package myrinet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/core"
)

// logged is what a job says of its NICs, by host.
type logged struct {
	mu   sync.Mutex
	said map[string]map[string]uint64
}

func (*logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *logged) WithGroup(string) slog.Handler          { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "myrinet: counts" {
		return nil
	}
	host, counts := "", map[string]uint64{}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "host" {
			host = a.Value.String()
		} else {
			counts[a.Key] = a.Value.Uint64()
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = map[string]map[string]uint64{}
	}
	l.said[host] = counts
	return nil
}

// trip is two hosts of a ring, with an in-transit host on the way from the first to the second.
type trip struct {
	from, to int
	there    trail
	back     trail
}

// trail is a way through the network: who injects a packet, and how many switches it comes through from there.
type trail struct{ hosts, hops []int }

// findTrip asks package routing, whose routes the conduit takes, for a trip on a ring of five switches with a host each.
func findTrip(t *testing.T) trip {
	t.Helper()
	topology, err := fabric.Shape{Hosts: 1, Ports: fabric.DefaultPorts}.Make("ring:5", 1)
	if err != nil {
		t.Fatal(err)
	}
	ways, err := routing.NewWays(topology, routing.Options{Scheme: routing.InTransit, Spread: routing.Random, Root: routing.Center(topology)})
	if err != nil {
		t.Fatal(err)
	}
	find := func(from, to int) trail {
		route := ways.Route(from, to)
		w := trail{hosts: append([]int{from}, ways.Transit(route)...)}
		for _, leg := range route {
			w.hops = append(w.hops, len(ways.Bytes(leg)))
		}
		return w
	}
	for from := range topology.Hosts {
		for to := range topology.Hosts {
			if from == to {
				continue
			}
			if w := find(from, to); len(w.hosts) > 1 {
				return trip{from, to, w, find(to, from)}
			}
		}
	}
	t.Fatal("no way through an in-transit host on a ring of five")
	return trip{}
}

// quiet returns what all NICs have done when nothing is under way between them. Meanwhile no rank orders anything.
func quiet() (map[string]myrinet.CardCounts, error) {
	last, _ := myrinet.Cards()
	for began := time.Now(); time.Since(began) < 20*time.Second; runtime.Gosched() {
		now, same := myrinet.Cards()
		var deposited, received, sent, accepted uint64
		for host, c := range now {
			deposited, received = deposited+c.Link.Deposited, received+c.Link.Received
			sent, accepted = sent+c.Firmware.Sent-c.Firmware.Resent, accepted+c.Firmware.Received
			same = same && c.Link == last[host].Link
		}
		if same && deposited == received && sent == accepted {
			return now, nil
		}
		last = now
	}
	return nil, fmt.Errorf("the network has not come to rest: %+v", last)
}

// TestCounts has two ranks talk, through an in-transit host, while no other rank calls the library. Each packet comes through the switches that its route bytes name, is deposited in rings of
// memory and taken out by a NIC that its doorbell has woken, is sent on by the NIC between, and reaches firmware. The job says so at its end.
func TestCounts(t *testing.T) {
	const n = 200
	way := findTrip(t)
	hosts := []string{"h0", "h1", "h2", "h3", "h4"}
	for _, nic := range []string{"shared", "goroutine"} {
		var before, after map[string]myrinet.CardCounts
		var log logged
		cfg := core.Config{
			Conduit: "counted-myrinet", Profile: "live", Threads: core.Single, Sleep: 1, Log: slog.New(&log),
			Settings: map[string]string{"topology": "ring:5", "routes": "in-transit", "nic": nic, "counts": "on"},
		}
		over := make(chan struct{})
		var ready sync.WaitGroup // all are out of the barrier
		ready.Add(len(hosts))
		var err error
		myrinet.Counted(func() {
			err = core.RunGoroutines(len(hosts), cfg, func(j *core.Job) error {
				asked, told := 0, 0
				ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
					{Index: ask, Func: func(tok *core.Token, _ []uint32, b []byte) {
						asked++
						if err := tok.ReplyMedium(answer, b); err != nil {
							panic(err)
						}
					}},
					{Index: answer, Func: func(*core.Token, []uint32, []byte) { told++ }},
				}})
				if err == nil {
					err = ep.Barrier()
				}
				ready.Done()
				switch {
				case err != nil:
					return err
				case int(j.Rank()) == way.to:
					err = ep.WaitUntil(func() bool { return asked == n })
				case int(j.Rank()) == way.from:
					defer close(over)
					ready.Wait()
					if before, err = quiet(); err != nil {
						return err
					}
					for i := 0; i < n && err == nil; i++ {
						err = errors.Join(ep.RequestMedium(core.Rank(way.to), ask, make([]byte, 10*i)), ep.WaitUntil(func() bool { return told > i }))
					}
					if err == nil {
						after, err = quiet()
					}
					return err
				}
				<-over // without a call of the library
				return err
			})
		})
		if err != nil {
			t.Fatalf("nic=%s: %v", nic, err)
		}
		sent := func(host int) uint64 { return after[hosts[host]].Link.Sent - before[hosts[host]].Link.Sent }
		var injected, hops, transit [5]uint64
		for _, w := range []trail{way.there, way.back} {
			packets := sent(w.hosts[0])
			for i, host := range w.hosts {
				injected[host] += packets
				hops[host] += packets * uint64(w.hops[i])
				if i > 0 {
					transit[host] += packets
				}
			}
		}
		for i, host := range hosts {
			b, a := before[host], after[host]
			talks := i == way.from || i == way.to
			if sent(i) != injected[i] || a.Link.Hops-b.Link.Hops != hops[i] || a.Firmware.InTransit-b.Firmware.InTransit != transit[i] || a.Link.Deposited-b.Link.Deposited != injected[i] {
				t.Errorf("nic=%s: %s has injected %d packets through %d switches, of which %d were in transit, want %d, %d and %d", nic, host, sent(i), a.Link.Hops-b.Link.Hops, a.Firmware.InTransit-b.Firmware.InTransit, injected[i], hops[i], transit[i])
			}
			if messages := a.Firmware.Sent - a.Firmware.Resent - b.Firmware.Sent + b.Firmware.Resent; talks && (messages != n || a.Firmware.Received-b.Firmware.Received != n) || !talks && messages != 0 {
				t.Errorf("nic=%s: the firmware of %s has sent %d messages and accepted %d", nic, host, messages, a.Firmware.Received-b.Firmware.Received)
			}
			if turns := a.ByRanks - b.ByRanks; (turns > 0) != (talks && nic == "shared") {
				t.Errorf("nic=%s: ranks have driven the NIC of %s in %d turns", nic, host, turns)
			}
			if woken := a.Woken - b.Woken; woken == 0 && (transit[i] > 0 || talks && nic == "goroutine") {
				t.Errorf("nic=%s: the doorbell has not woken the goroutine of %s: %+v, then %+v", nic, host, b, a)
			}
			if said := log.said[host]; said["packets"] < a.Link.Sent || said["hops"] < a.Link.Hops || said["in-transit"] < a.Firmware.InTransit || said["by-goroutine"] == 0 {
				t.Errorf("nic=%s: the job says of %s %v, which has done %+v before the end", nic, host, said, a)
			}
		}
		if sent(way.from) < 2*n || len(log.said) != len(hosts) {
			t.Errorf("nic=%s: %d packets for %d messages and as many acknowledgements; the job says of %d NICs what they have done", nic, sent(way.from), n, len(log.said))
		}
	}
}

// TestCountsModelled has a modelled job say what its NICs have done, one of which has no rank; and no job says it that is not asked.
func TestCountsModelled(t *testing.T) {
	for _, counts := range []string{"on", "off"} {
		var log logged
		cfg := with("", ring, transits, "counts="+counts)
		cfg.Conduit, cfg.Log = "watched-myrinet", slog.New(&log)
		if err := core.RunModel(2, cfg, func(j *core.Job) error {
			told := 0
			ep, err := attach(j, &told)
			if err != nil {
				return err
			}
			return errors.Join(ep.RequestShort(1-j.Rank(), ask, 2), ep.WaitUntil(func() bool { return told > 0 }))
		}); err != nil {
			t.Fatal(err)
		}
		done := myrinet.Done()
		if counts == "off" {
			done = nil
		}
		if len(log.said) != len(done) {
			t.Errorf("counts=%s: the job says of %d NICs what they have done, want %d", counts, len(log.said), len(done))
		}
		for host, d := range done {
			if said := log.said[host]; said["messages"] == 0 != (host == between) || said["messages"] > d.Sent || said["in-transit"] > d.InTransit || host == between && said["in-transit"] == 0 {
				t.Errorf("the job says of %s %v, which has done %+v", host, said, d)
			}
		}
	}
}
