package udp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"golang.org/x/sys/unix"
)

// watched is the conduit under a name of its own, whose ends a test gets hold of.
const watched = "udp under test"

// made are the ends that jobs over watched have made, in no order.
var made struct {
	sync.Mutex
	all []*conduit
}

func init() {
	core.Register(core.Driver{Name: watched, Settings: func(string) settings.Table { return new(params).table() }, New: func(string) core.Conduit {
		c := new(conduit)
		made.Lock()
		defer made.Unlock()
		made.all = append(made.all, c)
		return c
	}})
}

// end returns the end of a rank of the job that runs.
func end(r core.Rank) *conduit {
	made.Lock()
	defer made.Unlock()
	for _, c := range made.all {
		if c.rank == r {
			return c
		}
	}
	panic("no such rank")
}

// job runs body on n ranks over watched. A job that does not end is an error. There is no report
// of stalls, since that would wake whoever sleeps, and hide that nothing else does.
func job(t *testing.T, n int, settings map[string]string, body func(*core.Job, *core.Endpoint, *counters) error) error {
	t.Helper()
	made.all = nil
	cfg := core.Config{Conduit: watched, Settings: settings, Threads: core.Many}
	return core.RunGoroutines(n, cfg, func(j *core.Job) error {
		var c counters
		ep, err := j.Attach(core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{
			{Index: onRequest, Func: func(tok *core.Token, args []uint32, data []byte) {
				c.check(tok, args, data)
				if err := tok.ReplyMedium(onReply, data, args...); err != nil {
					panic(err)
				}
			}},
			{Index: onReply, Func: func(tok *core.Token, args []uint32, data []byte) { c.check(tok, args, data); c.replies++ }},
			{Index: onPlain, Func: func(*core.Token, []uint32, []byte) { c.plain++ }},
		}})
		if err != nil {
			return err
		}
		return body(j, ep, &c)
	})
}

const (
	onRequest = core.ClientHandlers + iota
	onReply
	onPlain
)

// counters are what a rank has received.
type counters struct{ replies, plain, wrong int }

// check looks at a payload that fill has made.
func (c *counters) check(_ *core.Token, args []uint32, data []byte) {
	if len(args) != 1 || !bytes.Equal(data, fill(int(args[0]))) {
		c.wrong++
	}
}

// fill returns the payload of message i.
func fill(i int) []byte {
	b := make([]byte, i*37%3000)
	for k := range b {
		b[k] = byte(i + k)
	}
	return b
}

// exchange sends n requests to the next rank and waits for their replies.
func exchangeWithNext(j *core.Job, ep *core.Endpoint, c *counters, n int) error {
	to := (j.Rank() + 1) % core.Rank(j.Size())
	for i := range n {
		if err := ep.RequestMedium(to, onRequest, fill(i), uint32(i)); err != nil {
			return err
		}
	}
	if err := ep.WaitUntil(func() bool { return c.replies >= n }); err != nil {
		return err
	}
	if c.wrong > 0 || c.replies != n {
		return fmt.Errorf("%d replies, want %d; %d messages are wrong", c.replies, n, c.wrong)
	}
	return nil
}

// Strangers send garbage and changed and repeated datagrams, in masses, under addresses of
// their own and in the name of ranks. The job notices nothing but that it takes longer. Where
// nothing is authenticated that holds for those who do not know the incarnations of the ranks.
func TestGarbage(t *testing.T) {
	for _, security := range []string{"none", "auth", "encrypt"} {
		t.Run(security, func(t *testing.T) {
			var dropped counts
			err := job(t, 3, map[string]string{"security": security, "buffer": "262144"}, func(j *core.Job, ep *core.Endpoint, c *counters) error {
				if err := ep.Barrier(); err != nil {
					return err
				}
				var stop atomic.Bool
				var strangers sync.WaitGroup
				strangers.Go(func() { pester(t, end(j.Rank()), &stop, uint64(j.Rank()), security != "none") })
				err := exchangeWithNext(j, ep, c, 2000)
				stop.Store(true)
				strangers.Wait()
				if err == nil && j.Rank() == 0 {
					me := end(0)
					me.mu.Lock()
					dropped = me.counts
					me.mu.Unlock()
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if dropped.strangers == 0 || dropped.malformed == 0 || dropped.misaddressed == 0 || dropped.forged == 0 && security != "none" {
				t.Errorf("dropped %+v, want some of each", dropped)
			}
		})
	}
}

// pester sends garbage to a rank until stop: from a socket of its own, and from the socket of
// another rank, as one would who forges addresses, and maybe knows the incarnations.
func pester(t *testing.T, victim *conduit, stop *atomic.Bool, seed uint64, knows bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	to, err := socket.UnixAddr(victim.sock.Local)
	if err != nil {
		t.Error(err)
		return
	}
	own, err := socket.Open(victim.sock.Local.Addr(), socket.Options{Buffer: 1 << 16})
	if err != nil {
		t.Error(err)
		return
	}
	defer own.Close()
	other := end((victim.rank + 1) % core.Rank(victim.ranks))
	for i := 0; !stop.Load(); i++ {
		fd := own.FD
		if i%2 == 0 {
			fd = other.sock.FD
		}
		garbage := make([]byte, r.IntN(300))
		for k := range garbage {
			garbage[k] = byte(r.Uint32())
		}
		if len(garbage) >= am2.KindSize && i%4 < 2 { // it looks like a datagram
			am2.PutKind(garbage, byte(i>>2%6))
			if len(garbage) > 19 {
				garbage[18], garbage[19] = 0, byte(i>>3&1*12)
			}
			if knows && i%16 < 8 && len(garbage) > am2.FixedHead {
				am2.PutIncarnations(garbage, other.incarnation, victim.incarnation)
			}
		}
		_ = unix.Sendto(fd, garbage, 0, to) // if there is no room, the next one may fit
		if i%8 == 0 {
			runtime.Gosched()
		}
	}
}

// What was recorded and is sent again, and what was recorded and changed, is not delivered.
func TestReplayedTraffic(t *testing.T) {
	err := job(t, 2, nil, func(j *core.Job, ep *core.Endpoint, c *counters) error {
		if err := exchangeWithNext(j, ep, c, 10); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
		if j.Rank() != 0 {
			return nil
		}
		// A datagram of rank 0, valid and never sent; then it comes thrice, and changed.
		me, victim := end(0), end(1)
		me.mu.Lock()
		var p *peer
		for _, k := range me.known {
			if k.rank == 1 {
				p = k
			}
		}
		head := make([]byte, am2.FixedHead)
		am2.PutKind(head, 5)      // a probe
		am2.PutNumber(head, 1000) // not used yet; those before stay valid
		am2.PutIncarnations(head, me.incarnation, victim.incarnation)
		head[20] = 9 // from an endpoint that is not there: it tells nothing of the other
		p.seal.Tag(am2.Number(head), head, nil, nil)
		me.mu.Unlock()
		changed := bytes.Clone(head)
		changed[50] ^= 1
		victim.mu.Lock()
		defer victim.mu.Unlock()
		before := victim.counts
		from := victim.knownPeer(0)
		block := victim.bundle.Block()
		defer block.Release()
		for i, d := range [][]byte{changed, head, head, head, changed} {
			got := victim.accept(victim.now(), from, block, append(block.Bytes()[:0], d...))
			if want := i == 1; got != want {
				return fmt.Errorf("datagram %d: accepted %v, want %v", i, got, want)
			}
		}
		if got := victim.counts; got.forged-before.forged != 1 || got.replayed-before.replayed != 3 {
			return fmt.Errorf("counted: %v, before: %v; want one more that is not authentic, and three more repeated ones", got, before)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// knownPeer returns the peer of a rank with which datagrams were exchanged.
func (c *conduit) knownPeer(r core.Rank) *peer {
	for _, p := range c.known {
		if p.rank == r {
			return p
		}
	}
	return nil
}

// A rank whose socket is closed under it is gone for its peers, without their waiting for it.
func TestGone(t *testing.T) {
	for _, addr := range addresses {
		err := job(t, 2, map[string]string{"address": addr}, func(j *core.Job, ep *core.Endpoint, c *counters) error {
			if err := ep.Barrier(); err != nil {
				return err
			}
			if j.Rank() == 1 {
				other, err := unix.Eventfd(0, 0)
				if err == nil {
					err = unix.Dup3(other, end(1).sock.FD, unix.O_CLOEXEC)
					unix.Close(other)
				}
				if err != nil {
					return err
				}
				return ep.WaitUntil(func() bool { return false })
			}
			for {
				if err := ep.RequestShort(1, onPlain); err != nil {
					return err
				}
			}
		})
		if err == nil || !strings.Contains(err.Error(), "rank 1 (") || !strings.Contains(err.Error(), "is gone") || core.StatusOf(err) != core.StatusLost {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// A rank that sleeps is told that a peer is given up also if its own host lets nothing through,
// such as a firewall that drops whatever the rank sends; here it sends to a broadcast address.
func TestNothingLeaves(t *testing.T) {
	err := job(t, 2, map[string]string{"unreachable": "300ms"}, func(j *core.Job, ep *core.Endpoint, c *counters) error {
		if j.Rank() == 0 {
			forbidden, err := socket.AddrOf(netip.MustParseAddrPort("127.255.255.255:9"))
			if err != nil {
				return err
			}
			me := end(0)
			me.mu.Lock()
			me.receiver(end(1).sock.Local).sockaddr = forbidden
			me.mu.Unlock()
			if err := ep.RequestShort(1, onPlain); err != nil {
				return err
			}
		}
		return ep.WaitUntil(func() bool { return false })
	})
	if err == nil || !strings.Contains(err.Error(), "rank 1 (127.0.0.1:") || !strings.Contains(err.Error(), "unreachable after 300ms") {
		t.Error(err)
	}
}

// That nobody receives at an address is not believed of another than the host itself.
func TestForgedRefusal(t *testing.T) {
	stranger, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		t.Skipf("a raw socket: %v", err)
	}
	defer unix.Close(stranger)
	if err := unix.Bind(stranger, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 2}}); err != nil {
		t.Fatal(err)
	}
	err = job(t, 2, nil, func(j *core.Job, ep *core.Endpoint, c *counters) error {
		if err := exchangeWithNext(j, ep, c, 10); err != nil {
			return err
		}
		if j.Rank() == 0 {
			me := end(0)
			me.mu.Lock()
			defer me.mu.Unlock()
			to := me.knownPeer(1)
			lie := portUnreachable(me.sock.Local, to.addr)
			if err := unix.Sendto(stranger, lie, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
				return err
			}
			f, ok := me.sock.Failed() // over the loopback it is there when it has been sent
			if !ok || f.Errno != unix.ECONNREFUSED || f.To != to.sockaddr || f.By.String() != "127.0.0.2" {
				return fmt.Errorf("%v: %v of %v by %v", ok, f.Errno, f.To.AddrPort(), f.By)
			}
			if me.refused(&f.To, f.By); me.dead != nil {
				return fmt.Errorf("rank 1 is taken for dead because %v says so", f.By)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// portUnreachable returns an ICMP message (RFC 792) about a datagram.
func portUnreachable(from, to netip.AddrPort) []byte {
	b := make([]byte, 8+socket.HeaderIPv4)
	b[0], b[1] = 3, 3
	ip := b[8:]
	ip[0], ip[9] = 4<<4|5, unix.IPPROTO_UDP
	copy(ip[12:], from.Addr().AsSlice())
	copy(ip[16:], to.Addr().AsSlice())
	binary.BigEndian.PutUint16(ip[20:], from.Port())
	binary.BigEndian.PutUint16(ip[22:], to.Port())
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[2:], ^uint16(sum+sum>>16))
	return b
}

// A rank that is silent is given up after the time that the settings say.
func TestUnreachable(t *testing.T) {
	over := make(chan struct{})
	err := job(t, 2, map[string]string{"unreachable": "300ms"}, func(j *core.Job, ep *core.Endpoint, c *counters) error {
		if err := ep.Barrier(); err != nil {
			return err
		}
		if j.Rank() == 1 {
			me := end(1)
			me.service.leave(me)
			<-over
			return nil
		}
		defer close(over)
		if err := ep.RequestShort(1, onPlain); err != nil {
			return err
		}
		return ep.WaitUntil(func() bool { return false })
	})
	want := fmt.Sprintf("udp: rank 1 (%v) unreachable after 300ms; is its process alive?", end(1).sock.Local)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// pollFor polls for some time.
func pollFor(ep *core.Endpoint, d time.Duration) error {
	for began := time.Now(); time.Since(began) < d; {
		if err := ep.Poll(); err != nil {
			return err
		}
	}
	return nil
}

// A rank that computes for longer than a silent peer is given is not taken for dead, and
// then finds what was sent to it.
func TestBusy(t *testing.T) {
	const given = 300 * time.Millisecond
	var enough atomic.Bool
	err := job(t, 2, map[string]string{"unreachable": given.String()}, func(j *core.Job, ep *core.Endpoint, c *counters) error {
		if err := ep.Barrier(); err != nil {
			return err
		}
		if j.Rank() == 1 {
			for !enough.Load() {
				runtime.Gosched()
			}
			return ep.WaitUntil(func() bool { return c.plain == 100 })
		}
		for range 100 {
			if err := ep.RequestShort(1, onPlain); err != nil {
				return err
			}
		}
		if err := pollFor(ep, 3*given); err != nil {
			return err
		}
		enough.Store(true)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A rank that has taken its leave is not taken for dead when its host refuses datagrams.
func TestFarewell(t *testing.T) {
	err := job(t, 2, nil, func(j *core.Job, ep *core.Endpoint, c *counters) error {
		if err := exchangeWithNext(j, ep, c, 10); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil || j.Rank() != 0 {
			return err
		}
		me, other := end(0), end(1)
		other.mu.Lock()
		other.farewell()
		other.mu.Unlock()
		me.mu.Lock()
		p := me.knownPeer(1)
		me.refused(&p.sockaddr, p.addr.Addr()) // it may have come before the farewell was read
		for !p.closed {
			me.mu.Unlock()
			if err := ep.Poll(); err != nil {
				return err
			}
			me.mu.Lock()
		}
		me.refused(&p.sockaddr, p.addr.Addr())
		err := me.buried(me.now() + time.Hour)
		me.mu.Unlock()
		if err == nil {
			j.Exit(0) // rank 1 has nothing more to say
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A rank that neither polls nor sleeps does not wait for a peer, and says nothing of one that is
// gone: it may be the last one in the bootstrap's barrier, and a farewell may have been lost.
func TestGoneUnasked(t *testing.T) {
	err := job(t, 2, nil, func(j *core.Job, ep *core.Endpoint, c *counters) error {
		if err := exchangeWithNext(j, ep, c, 10); err != nil || j.Rank() != 0 {
			return err
		}
		me := end(0)
		me.mu.Lock()
		defer me.mu.Unlock()
		p := me.knownPeer(1)
		me.refused(&p.sockaddr, p.addr.Addr())
		if err := me.buried(me.now() + time.Hour); err != nil {
			return fmt.Errorf("not asked: %w", err)
		}
		me.attend()
		if err := me.buried(me.now()); err != nil {
			return fmt.Errorf("too early: %w", err)
		}
		if err := me.buried(me.now() + time.Hour); core.StatusOf(err) != core.StatusLost {
			return fmt.Errorf("after a poll: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A rank that neither polls nor sends is served at the next look, one that only sends some looks
// later, and one that polls never.
func TestAttentive(t *testing.T) {
	c := new(conduit)
	for i, x := range []struct {
		polls, sends uint32
		want         bool
	}{
		{1, 0, true}, {0, 0, false}, {1, 1, true}, {0, 1, true}, {0, 1, true}, {0, 1, false}, {0, 1, false},
		{1, 0, true}, {0, 1, true}, {0, 0, false}, {0, 1, false}, {2, 3, true},
	} {
		c.polls += x.polls
		c.sends += x.sends
		if got := c.attentive(); got != x.want {
			t.Errorf("look %d: attentive %v, want %v", i, got, x.want)
		}
	}
}

// Ranks that bind to different loopbacks are told so.
func TestDifferentNamespaces(t *testing.T) {
	a, b := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	boot := exchanger{[][]byte{(&card{addr: a, network: 1}).encode(), (&card{addr: b, network: 2}).encode()}}
	if _, err := exchange(boot, card{addr: a, network: 1}); err == nil || !strings.Contains(err.Error(), "different network namespaces") {
		t.Error(err)
	}
}

// One socket serves addresses of its own family only, and says so.
func TestMixedFamilies(t *testing.T) {
	a, b := netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("[2001:db8::1]:1")
	boot := exchanger{[][]byte{(&card{addr: a}).encode(), (&card{addr: b}).encode()}}
	if _, err := exchange(boot, card{addr: a}); err == nil || !strings.Contains(err.Error(), "one family") {
		t.Error(err)
	}
}

// exchanger is a bootstrap whose ranks say what the test says.
type exchanger struct{ all [][]byte }

func (e exchanger) Rank() core.Rank                   { return 0 }
func (e exchanger) Size() int                         { return len(e.all) }
func (e exchanger) Local() []core.Rank                { return []core.Rank{0} }
func (e exchanger) Host(r core.Rank) int              { return int(r) }
func (e exchanger) Exchange([]byte) ([][]byte, error) { return e.all, nil }
func (e exchanger) Barrier() error                    { return nil }
func (e exchanger) Abort(int, string)                 {}
func (e exchanger) Done() <-chan error                { return nil }
func (e exchanger) Close() error                      { return nil }
