package grim_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// live is hosts at a switch that run in real time, all driven by the goroutine of the test.
type live struct {
	t     testing.TB
	loops []*vtime.Live
	ports []*link.Port
	hosts []*grim.Host
	all   [][]*grim.Endpoint // by host and channel
	id    grim.HandlerID     // of the handler
}

// newLive returns hosts at a switch with some endpoints each, which know the handler.
func newLive(t testing.TB, p *grim.Profile, image grim.Image, hosts, channels int, errors link.Errors, h grim.Handler) *live {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	topology, err := fabric.Shape{Hosts: hosts}.Line(1)
	must(err)
	table, err := routing.NewTable(topology, routing.Options{})
	must(err)
	const size = 256 << 10
	in, out := make([][]*link.Reader, hosts), make([][]*link.Writer, hosts)
	for from := range hosts {
		for to := range hosts {
			r, err := shm.NewRegion(shm.RoundUp(link.RingBytes(size)), shm.Local)
			must(err)
			t.Cleanup(func() { r.Close() })
			memory := r.Bytes()[:link.RingBytes(size)]
			out[from], in[to] = append(out[from], link.Producer(memory)), append(in[to], link.Consumer(memory))
		}
	}
	l := &live{t: t}
	known := 0
	for id := range hosts {
		loop := vtime.NewLive(uint64(id) + 1)
		port, err := link.New(link.Config{Topology: topology, Host: id, In: in[id], Out: out[id], MTU: int(p.GRIM.Route) + grim.HeaderSize + grim.MaxPayload, Errors: errors, Rand: loop.Rand("errors")})
		must(err)
		host, err := grim.NewHostAt(port, &loop.Loop, p.Live(), image, id, hosts)
		must(err)
		host.OnUnreachable(func(int) bool { return true }) // it is the machine that is slow
		l.loops, l.ports, l.hosts = append(l.loops, loop), append(l.ports, port), append(l.hosts, host)
		var endpoints []*grim.Endpoint
		for channel := range channels {
			e, err := host.Open(channel, grim.EndpointOptions{})
			must(err)
			must(e.Register("test", h))
			endpoints = append(endpoints, e)
		}
		l.all = append(l.all, endpoints)
		for to := range hosts {
			way := []byte{fabric.RouteByte(0)}
			if to != id {
				way = table.Bytes(table.Route(id, to)[0])
			}
			must(host.SetRoute(to, way))
		}
	}
	for id := range hosts {
		l.in(id, func() {
			for _, e := range l.all[id] {
				must(e.Synchronize(func(err error) { must(err); known++ }))
			}
		})
	}
	l.until("the server's list", func() bool { return known == hosts*channels })
	l.id, _ = l.all[0][0].Lookup("test")
	return l
}

// in has f use what the loop of a host drives.
func (l *live) in(host int, f func()) { l.loops[host].Do(f) }

// turn has a host take in what has come, and do what is due.
func (l *live) turn(host int) {
	l.in(host, func() {
		if _, err := l.ports[host].Poll(); err != nil {
			l.t.Fatal(err)
		}
		l.loops[host].Fire()
	})
}

// until has all hosts go on until cond is true.
func (l *live) until(what string, cond func() bool) {
	l.t.Helper()
	for began := time.Now(); !cond(); {
		if time.Since(began) > 20*time.Second {
			l.t.Fatalf("%s: not within 20 s; %+v, %+v", what, l.hosts[0].Counts(), l.hosts[1].Counts())
		}
		for host := range l.hosts {
			l.turn(host)
		}
	}
}

// rest wants all to have come to an end.
func (l *live) rest(what string) {
	l.t.Helper()
	l.until(what+": the end", func() bool {
		for host, h := range l.hosts {
			if h.Leaks() != nil || l.ports[host].Ready() || !l.ports[host].Idle() {
				return false
			}
		}
		return true
	})
}

// TestLive has messages of all sizes cross by one turn of the NIC that sends and one of the NIC that receives, and the acknowledgement by another: nothing takes time of the loop. A Pinned region or
// a contiguous one is written and read, by more bytes than a message has, and memory that is not registered is refused.
func TestLive(t *testing.T) {
	t.Parallel()
	for _, image := range []grim.Image{{}, {Queue: grim.Slotted}, {PerNI: true}, {TimeOuts: true}, {TimeOuts: true, ITB: true, Pool: 2}} {
		what := fmt.Sprintf("%+v", image)
		sizes := []int{0, 1, 2, 3, 4, 5, 511, 512, 513, 4096, 20000, grim.MaxPayload}
		if image.Queue == grim.Slotted {
			sizes = sizes[:9]
		}
		p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.Queue, p.GRIM.Slot = 1, 70_000, 1024 })
		var got []byte
		handled := 0
		l := newLive(t, p, image, 2, 1, link.Errors{}, func(_ *grim.Endpoint, m *grim.Message) { got, handled = bytes.Clone(m.Payload), handled+1 })
		l.rest(what)
		a, b := l.all[0][0], l.all[1][0]
		for i, n := range sizes {
			l.in(0, func() { send(t, a, b, l.id, uint32(i), pattern(n)) })
			l.turn(0)
			l.turn(1)
			if handled != i+1 || !bytes.Equal(got, pattern(n)) {
				t.Fatalf("%s: %d B have not come by a turn of each NIC", what, n)
			}
			if l.turn(0); l.hosts[0].Leaks() != nil || a.Counts().Overflowed > 0 {
				t.Fatalf("%s: a turn later: %v", what, l.hosts[0].Leaks())
			}
		}
		for _, kind := range []grim.Kind{grim.Pinned, grim.Contiguous} {
			const n = 200_000
			var there, here *grim.Region
			var err error
			l.in(1, func() { there, err = b.RegisterMemory(make([]byte, n), kind) })
			if err == nil {
				l.in(0, func() { here, err = a.RegisterMemory(make([]byte, n), kind) })
			}
			if err != nil {
				t.Fatal(err)
			}
			at := grim.Remote{Key: there.Key()}
			ended, failed := 0, error(nil)
			done := grim.RMOptions{Done: func(err error) { ended, failed = ended+1, errors.Join(failed, err) }}
			l.in(0, func() { err = a.Write(b.ID(), at, pattern(n), done) })
			l.until(what+": a write", func() bool { return ended == 1 || err != nil })
			if !bytes.Equal(there.Bytes(), pattern(n)) || failed != nil || err != nil {
				t.Errorf("%s: %v memory has not been written: %v, %v", what, kind, err, failed)
			}
			at.Offset = 5
			l.in(0, func() { err = a.Read(b.ID(), at, here, 7, n-10, done) })
			l.until(what+": a read", func() bool { return ended == 2 || err != nil })
			if !bytes.Equal(here.Bytes()[7:n-3], pattern(n)[5:n-5]) || failed != nil || err != nil {
				t.Errorf("%s: %v memory has not been read: %v, %v", what, kind, err, failed)
			}
			l.in(0, func() { err = a.Write(b.ID(), grim.Remote{Key: there.Key() + 1<<20}, pattern(100), done) })
			l.until(what+": a write that is refused", func() bool { return ended == 3 || err != nil })
			if !errors.Is(failed, grim.ErrUnregistered) || err != nil {
				t.Errorf("%s: memory that is not registered: %v, %v", what, err, failed)
			}
		}
		l.rest(what)
	}
}

// TestLiveErrors loses one packet in fifty, damages as many and cuts as many short: all messages, writes and reads are carried out, each once and in order, after time-outs.
func TestLiveErrors(t *testing.T) {
	t.Parallel()
	const each = 300
	n := 100
	if shm.RaceEnabled { // which has little to find in one goroutine
		n = 30
	}
	chance := machine.Chance(machine.Certain / 50)
	for _, image := range []grim.Image{{TimeOuts: true}, {TimeOuts: true, PerNI: true}} {
		p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.Queue = 2, 70_000 })
		var handled [2]int
		l := newLive(t, p, image, 2, 2, link.Errors{Lose: chance, Corrupt: chance, Truncate: chance}, func(e *grim.Endpoint, m *grim.Message) {
			host := int(e.ID()) / 2
			if int(m.Args[0]) != handled[host] || !bytes.Equal(m.Payload, pattern(handled[host]*10)) {
				t.Errorf("host %d: message %d with %d B, %d was due", host, m.Args[0], len(m.Payload), handled[host])
			}
			handled[host]++
		})
		memory, written := [2]*grim.Region{}, 0
		for host := range l.hosts {
			l.in(host, func() { memory[host], _ = l.all[host][1].RegisterMemory(make([]byte, n*each), grim.Pinned) })
		}
		for i := range n {
			for host := range l.hosts {
				l.in(host, func() {
					send(t, l.all[host][0], l.all[1-host][0], l.id, uint32(i), pattern(i*10))
					at := grim.Remote{Key: memory[1-host].Key(), Offset: uint64(i * each)}
					if err := l.all[host][1].Write(l.all[1-host][1].ID(), at, pattern(each + i)[i:], grim.RMOptions{Done: func(err error) {
						written++
						if err != nil {
							t.Error(err)
						}
					}}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		l.until("all messages", func() bool { return handled == [2]int{n, n} && written == 2*n })
		for host, m := range memory {
			for i := range n {
				if !bytes.Equal(m.Bytes()[i*each:][:each], pattern(each + i)[i:]) {
					t.Fatalf("host %d: write %d has not come as it was", host, i)
				}
			}
		}
		l.rest("errors")
		a, b := l.hosts[0].Counts(), l.hosts[1].Counts()
		if a.TimeOuts+b.TimeOuts < 5 || a.Resent+b.Resent < 5 || a.Corrupt+b.Corrupt == 0 || a.Truncated+b.Truncated == 0 || a.Duplicate+b.Duplicate == 0 {
			t.Errorf("too few errors to say anything: %+v, %+v", a, b)
		}
	}
}

// TestLiveMemory wants the bytes of messages, of packets and of acknowledgements to be used again: what a message leaves behind is its record, of which many are allocated at once.
func TestLiveMemory(t *testing.T) {
	const n, most = 3000, 250 // messages, and bytes for each
	p := profile(t, func(p *grim.Profile) { p.GRIM.Channels = 1 })
	handled, want := 0, 0
	l := newLive(t, p, grim.Image{}, 2, 1, link.Errors{}, func(*grim.Endpoint, *grim.Message) { handled++ })
	payload := pattern(1000)
	order := func() { send(t, l.all[0][0], l.all[1][0], l.id, 0, payload) }
	cross := func() {
		for range n {
			l.in(0, order)
			for range 2 {
				l.turn(0)
				l.turn(1)
			}
		}
		want += n
	}
	cross()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cross()
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > most || handled != want {
		t.Errorf("%d B of memory for a message of %d B; %d of %d have been handled", each, len(payload), handled, want)
	}
}

// TestLiveHybrid refuses a queue that ports of a live network cannot serve.
func TestLiveHybrid(t *testing.T) {
	t.Parallel()
	if _, err := grim.NewHostAt(nil, &vtime.NewLive(1).Loop, profile(t, nil).Live(), grim.Image{Queue: grim.Hybrid}, 0, 2); err == nil || !strings.Contains(err.Error(), "choose another organisation") {
		t.Errorf("a hybrid queue in a live job: %v", err)
	}
}
