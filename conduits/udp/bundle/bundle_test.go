package bundle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

const talkTag am2.Tag = 77

// talker is a bundle with an endpoint that counts what it gets, and replies to requests with
// what they bear.
type talker struct {
	t        testing.TB
	b        *Bundle
	e        *am2.Endpoint
	op       am2.Op // of requests
	replyOp  am2.Op
	segment  []byte
	silent   bool // does not reply
	requests int
	replies  int
	last     []byte // payload of the last message
	keep     bool   // last
	from     am2.Name
	returned map[am2.Reason]int
	lost     int
}

func newTalker(t testing.TB, o Options) *talker {
	t.Helper()
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	x := &talker{t: t, b: b, returned: make(map[am2.Reason]int), segment: make([]byte, 1<<20)}
	if x.e, err = b.NewEndpoint(0, talkTag, 1, x); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func (x *talker) Arrived(m *am2.Message) (replied bool) {
	if x.from != m.Remote() {
		x.from = m.Remote()
	}
	if x.keep {
		x.last = append(x.last[:0], m.Data...)
	}
	if m.Reply {
		x.replies++
		return false
	}
	x.requests++
	if x.silent {
		return false
	}
	op := &x.replyOp
	op.Kind, op.NArgs, op.Len = m.Kind, m.NArgs, m.Len
	op.Offset = m.Offset
	if r := x.e.ReserveReply(op); r != am2.Reserved {
		x.t.Errorf("reply: %v", r)
		return false
	}
	*op.Args = *m.Args
	copy(op.Data, m.Data)
	x.e.CommitReply(op)
	return true
}

func (x *talker) Place(m *am2.Message) []byte {
	if size := uint64(len(x.segment)); m.Offset > size || uint64(m.Len) > size-m.Offset {
		return nil
	}
	return x.segment[m.Offset:][:m.Len]
}
func (x *talker) Returned(_ *am2.Message, reason am2.Reason) { x.returned[reason]++ }
func (x *talker) Lost(*am2.Message, am2.Reason)              { x.lost++ }

func (x *talker) name() am2.Name { return x.b.Name(0) }

func (x *talker) meets(index uint32, name am2.Name) {
	x.t.Helper()
	if err := x.e.Map(index, name, talkTag); err != nil {
		x.t.Fatal(err)
	}
}

// send sends a request with a payload; false if there is no room.
func (x *talker) send(index uint32, kind am2.Kind, payload []byte) bool {
	op := &x.op
	op.Index, op.Kind, op.NArgs, op.Len = index, kind, 1, len(payload)
	switch r := x.e.Reserve(op); r {
	case am2.NoRoom:
		return false
	case am2.Reserved:
	default:
		x.t.Fatalf("reserve: %v", r)
	}
	op.Args[0] = index
	copy(op.Data, payload)
	x.e.Commit(op)
	return true
}

// overdue is when a test that waits has failed.
const overdue = 60 * time.Second

// converse polls until done.
func converse(t testing.TB, done func() bool, all ...*talker) {
	t.Helper()
	for began := time.Now(); !done(); {
		for _, x := range all {
			x.b.Poll(16)
		}
		if time.Since(began) > overdue {
			for _, x := range all {
				t.Logf("%v: %+v; dropped: %v; %d requests, %d replies", x.name(), x.b.Stats(), x.b.Drops(), x.requests, x.replies)
			}
			t.Fatal("nothing happens any more")
		}
	}
}

// protected are options with a key and mode.
func protected(key seal.Key, mode seal.Mode) Options {
	o := DefaultOptions(key)
	if o.Security = mode; mode == seal.None {
		o.Key = seal.Key{}
	}
	return o
}

// impatient gives up soon.
func impatient(o Options) Options {
	o.Config.Unreachable = 200 * time.Millisecond
	return o
}

func TestBundleExchange(t *testing.T) {
	key := seal.NewKey()
	small := DefaultOptions(key)
	small.Config.Datagram, small.Offload = 1400, true
	apart := small
	apart.Offload = false
	six := DefaultOptions(key)
	six.Address = netip.MustParseAddrPort("[::1]:0")
	hpam := DefaultOptions(key)
	hpam.Config = am2.HPAM()
	for name, o := range map[string]Options{
		"none": protected(key, seal.None), "auth": DefaultOptions(key), "encrypt": protected(key, seal.Encrypt),
		"small": small, "small, no offload": apart, "IPv6": six, "HPAM": hpam,
	} {
		t.Run(name, func(t *testing.T) {
			all := []*talker{newTalker(t, o), newTalker(t, o), newTalker(t, o)}
			for _, x := range all {
				x.keep = true
				for i, y := range all { // itself as well
					x.meets(uint32(i), y.name())
				}
			}
			sizes := []int{0, 1, 100, 1000, 5000, 65536}
			if o.Config.ReplyAcks {
				sizes = []int{0, 1, 100, 1000}
			}
			for _, x := range all {
				for i, y := range all {
					for _, size := range sizes {
						payload := bytes.Repeat([]byte{byte(size), byte(i), 3}, size)[:size]
						for _, kind := range []am2.Kind{am2.Medium, am2.Long} {
							want := x.replies + 1
							x.op.Offset = uint64(size)
							if !x.send(uint32(i), kind, payload) {
								t.Fatal("no room")
							}
							converse(t, func() bool { return x.replies == want }, all...)
							if !bytes.Equal(x.last, payload) || !bytes.Equal(y.last, payload) || x.from != y.name() || y.from != x.name() {
								t.Fatalf("%v to %v, %d bytes: not what was sent", x.name(), y.name(), size)
							}
						}
					}
				}
			}
			for _, x := range all {
				if d := x.b.Drops(); d != (Drops{}) {
					t.Errorf("%v has dropped: %v", x.name(), d)
				}
			}
		})
	}
}

// Several endpoints of a bundle, in both directions, with as many requests as there is room for.
func TestBundleFlow(t *testing.T) {
	const messages = 20000
	o := DefaultOptions(seal.NewKey())
	x, y := newTalker(t, o), newTalker(t, o)
	for _, p := range [][2]*talker{{x, y}, {y, x}} {
		p[0].meets(5, p[1].name())
		second, err := p[1].b.NewEndpoint(9, talkTag, 3, p[1])
		if err != nil {
			t.Fatal(err)
		}
		p[1].silent = true
		_ = second
		p[0].meets(6, p[1].b.Name(9))
	}
	sent := map[*talker]int{}
	converse(t, func() bool {
		for _, p := range []*talker{x, y} {
			for sent[p] < messages && p.send(uint32(5+sent[p]%2), am2.Short, nil) {
				sent[p]++
			}
		}
		return x.requests == messages && y.requests == messages
	}, x, y)
	converse(t, func() bool { return x.b.Unacknowledged()+y.b.Unacknowledged() == 0 }, x, y)
}

// Tags keep messages out, and can be changed.
func TestBundleTags(t *testing.T) {
	o := DefaultOptions(seal.NewKey())
	x, y := newTalker(t, o), newTalker(t, o)
	x.meets(0, y.name())
	for i, tag := range []am2.Tag{talkTag + 1, am2.NeverMatch} {
		y.e.SetTag(tag)
		x.send(0, am2.Short, nil)
		converse(t, func() bool { return x.returned[am2.TagMismatch] == i+1 }, x, y)
	}
	y.e.SetTag(am2.Wildcard)
	x.send(0, am2.Short, nil)
	converse(t, func() bool { return x.replies == 1 }, x, y)
	x.meets(1, y.b.Name(3))
	x.send(1, am2.Short, nil)
	converse(t, func() bool { return x.returned[am2.NoEndpoint] == 1 }, x, y)
	if y.requests != 1 {
		t.Errorf("%d requests were delivered", y.requests)
	}
}

// Who has another key, another mode or other sizes is not heard, and the counts say so.
func TestBundleKeys(t *testing.T) {
	key := seal.NewKey()
	deep := DefaultOptions(key)
	deep.Config.Depth *= 2
	for name, o := range map[string]Options{
		"key": DefaultOptions(seal.NewKey()), "mode": protected(key, seal.Encrypt), "depth": deep, "none": protected(key, seal.None),
	} {
		t.Run(name, func(t *testing.T) {
			x, y, z := newTalker(t, impatient(DefaultOptions(key))), newTalker(t, o), newTalker(t, DefaultOptions(key))
			x.meets(0, y.name())
			x.meets(1, z.name())
			x.send(0, am2.Short, nil)
			x.send(0, am2.Medium, make([]byte, 20000))
			x.send(1, am2.Short, nil)
			converse(t, func() bool { return x.returned[am2.Unreachable] == 2 && x.lost == 1 && x.replies == 1 }, x, y, z)
			if d := y.b.Drops(); o.Security != seal.None && (d.Forged == 0 || y.requests != 0 || len(y.b.known) != 0) {
				t.Errorf("%d requests, %d processes known, dropped: %v", y.requests, len(y.b.known), d)
			}
			if n := y.b.ring.Keys(); n != 0 {
				t.Errorf("keys of %d processes are there", n)
			}
			if d := x.b.Drops(); o.Security == seal.None && d.Forged == 0 {
				t.Errorf("what is not protected was not refused: %v", d)
			}
		})
	}
}

// What is for a bundle that has closed, or for nobody, comes back at once.
func TestBundleGone(t *testing.T) {
	o := DefaultOptions(seal.NewKey())
	x, y := newTalker(t, o), newTalker(t, o)
	x.meets(0, y.name())
	x.send(0, am2.Short, nil)
	converse(t, func() bool { return x.replies == 1 }, x, y)
	y.silent = true
	x.send(0, am2.Short, nil)
	if err := y.b.Close(); err != nil {
		t.Fatal(err)
	}
	converse(t, func() bool { return x.returned[am2.Refused] == 1 }, x)
	x.send(0, am2.Short, nil)
	if x.b.Due() > 0 && x.b.Unacknowledged() == 0 {
		t.Error("nothing is due though a message is to come back")
	}
	converse(t, func() bool { return x.returned[am2.Refused] == 2 }, x)

	// Nobody has said farewell here.
	z := newTalker(t, o)
	x.meets(1, z.name())
	z.b.closed = true // its farewell is lost
	if err := z.b.sock.Close(); err != nil {
		t.Fatal(err)
	}
	x.send(1, am2.Short, nil)
	converse(t, func() bool { return x.returned[am2.Refused] == 3 }, x)
}

// A process takes the place of another at the same address, whose name is not good any more.
func TestBundleReplaced(t *testing.T) {
	for _, farewell := range []bool{true, false} {
		t.Run(fmt.Sprint("farewell ", farewell), func(t *testing.T) {
			o := DefaultOptions(seal.NewKey())
			x, y := newTalker(t, impatient(o)), newTalker(t, o)
			x.meets(0, y.name())
			for i := range 10 {
				x.send(0, am2.Short, nil)
				converse(t, func() bool { return x.replies == i+1 }, x, y)
			}
			if !farewell {
				y.b.closed = true
				if err := y.b.sock.Close(); err != nil {
					t.Fatal(err)
				}
			} else if err := y.b.Close(); err != nil {
				t.Fatal(err)
			}
			o.Address = y.name().Addr
			z := newTalker(t, o)
			if z.name().Addr != y.name().Addr || z.name() == y.name() {
				t.Fatalf("%v after %v", z.name(), y.name())
			}
			x.meets(1, z.name())
			x.send(1, am2.Medium, make([]byte, 20000))
			converse(t, func() bool { return x.replies == 11 }, x, z)
			x.send(0, am2.Short, nil) // to the old one
			x.send(1, am2.Short, nil)
			converse(t, func() bool { return x.returned[am2.Refused] == 1 && x.replies == 12 }, x, z)

			// A name that nobody has, at an address that answers.
			nobody := z.name()
			nobody.Incarnation++
			x.meets(2, nobody)
			x.send(2, am2.Short, nil)
			sent := 0
			converse(t, func() bool {
				if sent == x.replies-12 && x.send(1, am2.Short, nil) {
					sent++
				}
				return x.returned[am2.Unreachable] == 1
			}, x, z)
			if d := z.b.Drops(); d.Misaddressed == 0 {
				t.Errorf("nothing was misaddressed: %v", d)
			}
		})
	}
}

// captured has x send a request to y, takes its datagram from y's socket and returns it.
func captured(t testing.TB, x, y *talker) []byte {
	t.Helper()
	if !x.send(0, am2.Short, nil) {
		t.Fatal("no room")
	}
	buf := make([]byte, socket.BlockSize)
	for began := time.Now(); time.Since(began) < overdue; {
		if n, _, errno := y.b.sock.Receive(buf); errno == 0 {
			return buf[:n]
		}
	}
	t.Fatal("nothing comes")
	return nil
}

// offer hands a datagram to a bundle as if it had come from the sender of the last one.
func offer(b *Bundle, datagram []byte) bool {
	block := b.am.Block()
	defer block.Release()
	b.tried = 0
	return b.accept(b.now(), block, append(block.Bytes()[:0], datagram...))
}

// Recorded datagrams are taken once, by whom they are for, also when their keys were forgotten.
func TestBundleReplay(t *testing.T) {
	for _, mode := range []seal.Mode{seal.Auth, seal.Encrypt} {
		o := protected(seal.NewKey(), mode)
		x, y, z := newTalker(t, o), newTalker(t, o), newTalker(t, o)
		x.meets(0, y.name())
		d := captured(t, x, y)
		z.b.sock.From = y.b.sock.From
		if offer(z.b, d) || z.b.Drops().Misaddressed != 1 {
			t.Errorf("%v: taken by another: %v", mode, z.b.Drops())
		}
		readdressed := bytes.Clone(d)
		am2.PutIncarnations(readdressed, x.b.incarnation, z.b.incarnation)
		if offer(z.b, readdressed) || z.b.Drops().Forged != 1 {
			t.Errorf("%v: taken by another, readdressed: %v", mode, z.b.Drops())
		}
		for i := range d { // whatever is changed
			changed := bytes.Clone(d)
			changed[i] ^= 1
			if offer(y.b, changed) {
				t.Fatalf("%v: taken with byte %d changed", mode, i)
			}
		}
		y.b.tried = 0
		if !y.b.place(y.b.now(), nil, d, 4) { // where payloads would lie badly
			t.Fatalf("%v: not taken: %v", mode, y.b.Drops())
		}
		last := socket.Farewell(x.b.incarnation, y.b.incarnation)
		if offer(y.b, last) || y.b.known[0].over {
			t.Errorf("%v: a forged farewell was believed", mode)
		}
		for i := range uint64(3) {
			if offer(y.b, d) || y.b.Drops().Repeated != i+1 {
				t.Errorf("%v: taken again: %v", mode, y.b.Drops())
			}
			y.b.began = y.b.began.Add(-socket.KeysKept) // time passes
			y.b.Poll(1)
		}
		converse(t, func() bool { return x.replies == 1 && x.b.Unacknowledged() == 0 }, x, y)
		if y.requests != 1 {
			t.Errorf("%v: %d requests", mode, y.requests)
		}
	}
}

// An idle bundle forgets keys, and derives them anew.
func TestBundleSweeps(t *testing.T) {
	o := DefaultOptions(seal.NewKey())
	x, y := newTalker(t, o), newTalker(t, o)
	x.meets(0, y.name())
	for i := range 3 {
		x.send(0, am2.Short, nil)
		converse(t, func() bool {
			return x.replies == i+1 && x.b.Unacknowledged()+y.b.Unacknowledged() == 0
		}, x, y)
		for range 3 {
			y.b.began = y.b.began.Add(-socket.KeysKept)
			y.b.Poll(1)
		}
		if n := y.b.ring.Keys(); n != 0 {
			t.Errorf("keys of %d processes are there", n)
		}
	}
}

// Strangers who send what looks right, from ever new addresses, neither stop the traffic nor
// leave anything behind.
func TestBundleFlood(t *testing.T) {
	for _, mode := range []seal.Mode{seal.Auth, seal.Encrypt} {
		t.Run(mode.String(), func(t *testing.T) {
			o := protected(seal.NewKey(), mode)
			x, y := newTalker(t, o), newTalker(t, o)
			x.meets(0, y.name())
			good := captured(t, x, y) // lost, so it comes again
			const strangers, rounds = 50, 40
			var from [strangers]net.PacketConn
			for i := range from {
				c, err := net.ListenPacket("udp4", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				from[i] = c
			}
			to := net.UDPAddrFromAddrPort(y.name().Addr)
			for round := range uint32(rounds) {
				for i, c := range from {
					bad := bytes.Clone(good)
					switch i % 4 {
					case 0: // as if it were a new process each time
						am2.PutIncarnations(bad, round*strangers+uint32(i), y.b.incarnation)
					case 1:
						bad = bad[:i]
					case 2:
						binary.LittleEndian.PutUint64(bad[am2.FixedHead-8:], uint64(round))
					case 3: // of no incarnation
						am2.PutIncarnations(bad, 1, round)
					}
					if _, err := c.WriteTo(bad, to); err != nil {
						t.Fatal(err)
					}
				}
				want := x.replies + 1
				if round > 0 && !x.send(0, am2.Short, nil) {
					t.Fatal("no room")
				}
				converse(t, func() bool { return x.replies == want }, x, y)
			}
			for b, n := y.b, 0; n < 2; n++ { // until the socket is empty
				if b.receive() != socket.Nothing {
					n = 0
				}
				b.tried = 0
			}
			d := y.b.Drops()
			if got := d.Forged + d.Malformed + d.Misaddressed + d.Untried; d.Forged == 0 || d.Misaddressed < strangers/4*rounds || got != strangers*rounds {
				t.Errorf("%d dropped of %d: %v", got, strangers*rounds, d)
			}
			if len(y.b.known) != 1 || len(y.b.sites) != 1 || len(y.b.processes) != 1 || y.b.ring.Keys() > 1 {
				t.Errorf("%d processes, %d sites, %d keys", len(y.b.known), len(y.b.sites), y.b.ring.Keys())
			}
		})
	}
}

// A call tries so many strangers and no more.
func TestBundleTries(t *testing.T) {
	x := newTalker(t, DefaultOptions(seal.NewKey()))
	d := make([]byte, am2.FixedHead+8)
	am2.PutKind(d, 0) // of requests
	for i := range uint32(2 * mostTries) {
		am2.PutIncarnations(d, i, x.b.incarnation)
		x.b.sock.From, _ = socket.AddrOf(netip.AddrPortFrom(socket.Loopback, uint16(i+1)))
		block := x.b.am.Block()
		if x.b.accept(0, block, append(block.Bytes()[:0], d...)) {
			t.Fatal("a forged datagram was taken")
		}
		block.Release()
	}
	if got := x.b.Drops(); got.Forged != mostTries || got.Untried != mostTries {
		t.Errorf("%v", got)
	}
}

// A bundle that knows as many processes as it may goes on to serve them.
func TestBundleFull(t *testing.T) {
	o := DefaultOptions(seal.NewKey())
	few := o
	few.Config.Peers = 1
	x, y, z := newTalker(t, o), newTalker(t, few), newTalker(t, impatient(o))
	for _, p := range []*talker{x, z} {
		p.meets(0, y.name())
	}
	x.send(0, am2.Short, nil)
	converse(t, func() bool { return x.replies == 1 }, x, y)
	z.send(0, am2.Short, nil)
	converse(t, func() bool { return z.returned[am2.Unreachable] == 1 }, x, y, z)
	x.send(0, am2.Short, nil)
	converse(t, func() bool { return x.replies == 2 }, x, y)
	d := y.b.Drops()
	if d.Full == 0 || y.requests != 2 {
		t.Errorf("%d requests, dropped: %v", y.requests, d)
	}
	// Nor can it send to others, be it at other addresses or at the same.
	y.meets(0, z.name())
	if y.send(0, am2.Short, nil) {
		t.Error("there is room for one more process")
	}
	another := x.name()
	another.Incarnation++
	y.meets(1, another)
	y.send(1, am2.Short, nil)
	converse(t, func() bool { return y.returned[am2.Refused] == 1 }, x, y)
	if got := y.b.Drops().Full; got != d.Full+1 {
		t.Errorf("%d dropped, want %d", got, d.Full+1)
	}
}

// What is for addresses that the socket does not reach comes back at once.
func TestBundleOutOfReach(t *testing.T) {
	x := newTalker(t, DefaultOptions(seal.NewKey()))
	for i, addr := range []string{"[::1]:9", "[fe80::1]:9", "[::1%lo]:9"} {
		x.meets(uint32(i), am2.Name{Addr: netip.MustParseAddrPort(addr), Incarnation: 1})
		x.send(uint32(i), am2.Short, nil)
	}
	converse(t, func() bool { return x.returned[am2.Refused] == 3 }, x)
	if len(x.b.known) != 0 {
		t.Errorf("%d processes are known", len(x.b.known))
	}
}

// A datagram of an earlier process that was held back until another one has come in its place
// is delivered once, and the later one goes on.
func TestBundleHeldBack(t *testing.T) {
	o := DefaultOptions(seal.NewKey())
	x, y := newTalker(t, o), newTalker(t, o)
	x.meets(0, y.name())
	held := captured(t, x, y)
	from := y.b.sock.From
	x.b.closed = true // it dies
	if err := x.b.sock.Close(); err != nil {
		t.Fatal(err)
	}
	o.Address = x.name().Addr
	z := newTalker(t, o)
	z.meets(0, y.name())
	round := func(replies int) {
		t.Helper()
		z.send(0, am2.Short, nil)
		converse(t, func() bool { return z.replies == replies }, y, z)
	}
	for i := range 20 { // so that its numbers are beyond the other's
		round(i + 1)
	}
	y.b.sock.From = from
	if !offer(y.b, held) {
		t.Fatalf("not taken: %v", y.b.Drops())
	}
	for y.requests < 21 {
		y.b.Poll(1)
	}
	round(21)
	y.b.sock.From = from
	if offer(y.b, held) {
		t.Error("taken again")
	}
	round(22)
	if y.requests != 23 || y.returned[am2.Refused] == 0 { // the reply to the first at least
		t.Errorf("%d requests, %d replies came back", y.requests, y.returned[am2.Refused])
	}
}

// A program can sleep by other means: on the socket, for the time that is due.
func TestBundleEventLoop(t *testing.T) {
	o := DefaultOptions(seal.NewKey())
	x, y := newTalker(t, o), newTalker(t, o)
	x.meets(0, y.name())
	fds := []unix.PollFd{{Fd: int32(x.b.FD()), Events: unix.POLLIN}, {Fd: int32(y.b.FD()), Events: unix.POLLIN}}
	for x.replies < 1000 {
		x.send(0, am2.Short, nil)
		timeout := unix.NsecToTimespec(int64(min(x.b.Due(), y.b.Due())))
		if _, err := unix.Ppoll(fds, &timeout, nil); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		for i, p := range []*talker{x, y} {
			if fds[i].Revents != 0 || p.b.Due() == 0 {
				p.b.Poll(16)
			}
		}
	}
}

// swallow has a socket receive nothing that is longer than 1000 bytes, by a filter of the kernel's
// (BPF), until mend is called.
func swallow(t *testing.T, fd int) (mend func()) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_LEN},
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: 1000, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: socket.BlockSize},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// What is lost again and again beyond this host makes datagrams short, if short ones get through
// meanwhile.
func TestBundleNarrow(t *testing.T) {
	o := DefaultOptions(seal.NewKey())
	o.Config.FirstRTO, o.Config.MaxRTO = 5*time.Millisecond, 10*time.Millisecond // again and again is soon
	x, y := newTalker(t, o), newTalker(t, o)
	x.meets(0, y.name())
	x.send(0, am2.Short, nil)
	converse(t, func() bool { return x.replies == 1 }, x, y)
	at := x.b.known[0].site
	at.far = true
	mend := swallow(t, y.b.FD())
	x.send(0, am2.Medium, make([]byte, 20000))
	converse(t, func() bool { return x.b.Stats().Retransmissions > 2*socket.Suspicion }, x) // y does not answer
	if at.mtu == socket.PayloadOf(false, 0) {
		t.Error("datagrams are short though nothing got through")
	}
	converse(t, func() bool { return at.mtu == socket.PayloadOf(false, 0) }, x, y)
	mend()
	converse(t, func() bool { return x.replies == 2 }, x, y)
	before := x.b.Stats().Sent
	x.send(0, am2.Medium, make([]byte, 20000))
	converse(t, func() bool { return x.replies == 3 }, x, y)
	if n := x.b.Stats().Sent - before; n < 20000/socket.LeastMTUv4 {
		t.Errorf("%d datagrams for 20000 bytes", n)
	}
	before = x.b.Stats().Sent
	x.b.narrowed(&at.sockaddr) // looked at again
	x.send(0, am2.Medium, make([]byte, 20000))
	converse(t, func() bool { return x.replies == 4 }, x, y)
	if n := x.b.Stats().Sent - before; n >= 20000/socket.LeastMTUv4 {
		t.Errorf("%d datagrams for 20000 bytes", n)
	}
}

// serve answers until it is to quit, and everybody has the answers.
func serve(x *talker, quit func() bool) {
	for !quit() {
		x.b.Wait(am2.Never)
		x.b.Poll(64)
	}
	for x.b.Unacknowledged() > 0 {
		x.b.Wait(am2.Never)
		x.b.Poll(64)
	}
}

// Who waits is woken by messages, credit and what comes back, and sees time pass.
func TestBundleWait(t *testing.T) {
	const rounds = 2000
	o := DefaultOptions(seal.NewKey())
	x, y := newTalker(t, impatient(o)), newTalker(t, o)
	if x.b.Wait(0) || x.b.Wait(time.Millisecond) {
		t.Error("there is something though nobody has sent")
	}
	x.meets(0, y.name())
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(y, func() bool { return y.requests == rounds })
	}()
	for i := range rounds {
		for !x.send(0, am2.Short, nil) {
			x.b.Wait(am2.Never)
			x.b.Poll(1)
		}
		for i%2 == 0 && x.replies <= i { // every other time several are on their way
			x.b.Wait(am2.Never)
			x.b.Poll(1)
		}
	}
	for served := false; !served || x.replies < rounds; {
		x.b.Wait(time.Millisecond)
		x.b.Poll(1)
		select {
		case <-done:
			served = true
		default:
		}
	}

	y.silent = true // and does not poll any more
	x.send(0, am2.Short, nil)
	for x.returned[am2.Unreachable] == 0 {
		if !x.b.Wait(overdue) {
			t.Fatal("the message does not come back")
		}
		x.b.Poll(1)
	}
}

func TestBundleMisuse(t *testing.T) {
	key := seal.NewKey()
	for want, change := range map[string]func(*Options){
		"address of one interface": func(o *Options) { o.Address = netip.MustParseAddrPort("0.0.0.0:0") },
		"224.0.0.1":                func(o *Options) { o.Address = netip.MustParseAddrPort("224.0.0.1:0") },
		"invalid AddrPort":         func(o *Options) { o.Address = netip.AddrPort{} },
		"one link only":            func(o *Options) { o.Address = netip.MustParseAddrPort("[fe80::1%lo]:0") },
		"an address of this host":  func(o *Options) { o.Address = netip.MustParseAddrPort("192.0.2.1:0") },
		"no Key":                   func(o *Options) { o.Key = seal.Key{} },
		"there is a Key":           func(o *Options) { o.Security = seal.None },
		"set Insecure": func(o *Options) {
			o.Security, o.Key, o.Address = seal.None, seal.Key{}, netip.MustParseAddrPort("192.0.2.1:0")
		},
		"Mode(3)":            func(o *Options) { o.Security = 3 },
		"Buffer is 1":        func(o *Options) { o.Buffer = 1 },
		"Config.Depth is 0":  func(o *Options) { o.Config = am2.Config{} },
		"Config.Window is 3": func(o *Options) { o.Config.Window = 3 },
	} {
		o := DefaultOptions(key)
		change(&o)
		if b, err := Open(o); err == nil || !strings.HasPrefix(err.Error(), "udp: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q: %v, %v", want, b, err)
		}
	}

	x := newTalker(t, DefaultOptions(key))
	o := x.b.options
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("two at one address: %v", err)
	}
	x.e.Close()
	if _, err := x.b.NewEndpoint(0, talkTag, 1, x); err == nil {
		t.Error("a number was used twice")
	}
	if _, err := x.b.NewEndpoint(1, talkTag, 0, x); err == nil {
		t.Error("an endpoint without weight")
	}
	if _, err := x.b.NewEndpoint(1, talkTag, 1, x); err != nil {
		t.Errorf("after a failure: %v", err)
	}
	for _, call := range []func(){func() { x.b.Poll(1) }, func() { x.b.Wait(0) }, func() { x.b.Close() }} {
		h := &callback{f: call}
		y := newTalker(t, DefaultOptions(key))
		e, err := x.b.NewEndpoint(uint16(len(x.b.numbers)), talkTag, 1, h)
		if err != nil {
			t.Fatal(err)
		}
		_ = e
		y.meets(0, x.b.Name(uint16(len(x.b.numbers)-1)))
		y.send(0, am2.Short, nil)
		converse(t, func() bool { return h.panicked != nil }, x, y)
		if !strings.Contains(fmt.Sprint(h.panicked), "a handler called") {
			t.Errorf("panic: %v", h.panicked)
		}
	}
}

// callback is a handler that makes a call, which panics.
type callback struct {
	f        func()
	panicked any
}

func (h *callback) Arrived(*am2.Message) bool {
	defer func() { h.panicked = recover() }()
	h.f()
	return false
}
func (h *callback) Place(*am2.Message) []byte         { return nil }
func (h *callback) Returned(*am2.Message, am2.Reason) {}
func (h *callback) Lost(*am2.Message, am2.Reason)     {}

func TestBundleAllocatesNothing(t *testing.T) {
	for _, mode := range []seal.Mode{seal.None, seal.Auth, seal.Encrypt} {
		o := protected(seal.NewKey(), mode)
		x, y := newTalker(t, o), newTalker(t, o)
		x.meets(0, y.name())
		payload := make([]byte, 200)
		round := func() {
			want := x.replies + 1
			x.send(0, am2.Medium, payload)
			for x.replies < want {
				x.b.Poll(16)
				y.b.Poll(16)
			}
		}
		for range 100 {
			round()
		}
		if n := testing.AllocsPerRun(1000, round); n != 0 {
			t.Errorf("%v: %v allocations per round trip", mode, n)
		}
	}
}

// Variables by which TestBundleProcesses tells a second process what it is to do.
const (
	clientKey    = "AQ_TEST_CLIENT_KEY"
	clientServer = "AQ_TEST_CLIENT_SERVER"
)

const clientRequests = 5000

// Two programs know a key file, and one of them the other's name.
func TestBundleProcesses(t *testing.T) {
	if os.Getenv(clientKey) != "" {
		beClient(t)
		return
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := seal.WriteKey(path); err != nil {
		t.Fatal(err)
	}
	key, err := seal.ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	x := newTalker(t, DefaultOptions(key))
	const clients = 2
	ended := make(chan error, clients)
	for range clients {
		c := exec.Command(os.Args[0], "-test.run=^TestBundleProcesses$", "-test.count=1")
		c.Env = append(os.Environ(), clientKey+"="+path, clientServer+"="+x.name().String())
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			err := c.Wait()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out.String())
			}
			ended <- err
		}()
	}
	for n := 0; n < clients; {
		x.b.Wait(time.Millisecond)
		x.b.Poll(64)
		select {
		case err := <-ended:
			if n++; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	if x.requests != clients*clientRequests {
		t.Errorf("%d requests", x.requests)
	}
	if len(x.b.known) != clients {
		t.Errorf("%d processes are known", len(x.b.known))
	}
	converse(t, func() bool { // both have said farewell
		for _, p := range x.b.known {
			if !p.over {
				return false
			}
		}
		return true
	}, x)
}

func beClient(t *testing.T) {
	key, err := seal.ReadKey(os.Getenv(clientKey))
	if err != nil {
		t.Fatal(err)
	}
	name, err := am2.ParseName(os.Getenv(clientServer))
	if err != nil {
		t.Fatal(err)
	}
	x := newTalker(t, DefaultOptions(key))
	x.meets(0, name)
	for sent := 0; x.replies < clientRequests || x.b.Unacknowledged() > 0; {
		for sent < clientRequests && x.send(0, am2.Short, nil) {
			sent++
		}
		if !x.b.Wait(overdue) {
			t.Fatalf("%d replies, and nothing happens any more", x.replies)
		}
		x.b.Poll(64)
	}
}

// BenchmarkBundle is a round trip between two bundles that one goroutine polls.
func BenchmarkBundle(b *testing.B) {
	for _, mode := range []seal.Mode{seal.None, seal.Auth, seal.Encrypt} {
		b.Run(mode.String(), func(b *testing.B) {
			o := protected(seal.NewKey(), mode)
			x, y := newTalker(b, o), newTalker(b, o)
			x.meets(0, y.name())
			b.ReportAllocs()
			for b.Loop() {
				want := x.replies + 1
				x.send(0, am2.Short, nil)
				for x.replies < want {
					y.b.Poll(16)
					x.b.Poll(16)
				}
			}
			runtime.KeepAlive(y)
		})
	}
}

// Whatever comes, a bundle without protection neither fails nor knows more processes than it may.
func FuzzBundleAccept(f *testing.F) {
	o := protected(seal.Key{}, seal.None)
	x, y := newTalker(f, o), newTalker(f, o)
	x.meets(0, y.name())
	f.Add(captured(f, x, y), uint16(1), true)
	f.Add(socket.Farewell(0, 0), uint16(1), true)
	f.Add([]byte{}, uint16(0), false)
	o.Config.Peers = 4
	nowhere := netip.AddrFrom4([4]byte{127, 77, 0, 1}) // so that answers disturb nobody
	f.Fuzz(func(t *testing.T, datagram []byte, port uint16, addressed bool) {
		if len(datagram) > socket.BlockSize {
			return
		}
		z := newTalker(t, o)
		z.silent = true
		z.segment = nil // whatever the place of a Long, there is none
		datagram = bytes.Clone(datagram)
		if addressed && len(datagram) >= am2.FixedHead {
			source, _ := am2.Incarnations(datagram)
			am2.PutIncarnations(datagram, source, z.b.incarnation)
		}
		for i := range uint16(8) { // of two processes at each of four addresses
			z.b.sock.From, _ = socket.AddrOf(netip.AddrPortFrom(nowhere, port+i/2))
			offer(z.b, datagram)
			if len(datagram) >= am2.FixedHead {
				source, dest := am2.Incarnations(datagram)
				am2.PutIncarnations(datagram, source^1, dest)
			}
			z.b.Poll(16)
		}
		if n := len(z.b.known); n > o.Config.Peers {
			t.Fatalf("%d processes are known", n)
		}
	})
}
