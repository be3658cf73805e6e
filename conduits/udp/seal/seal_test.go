package seal_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

// readable is how much of a head mode Encrypt leaves so.
const readable = 48

// pair returns both ends of the traffic between two processes of a job.
func pair(mode seal.Mode, key seal.Key) (a, b *seal.Peer) {
	return seal.NewRing(mode, key, "a", readable).Peer("b"), seal.NewRing(mode, key, "b", readable).Peer("a")
}

// datagram is a head with a tag of the body in its midst, and a body.
type datagram struct{ head, body []byte }

func newDatagram(r *rand.Rand, body int) datagram {
	d := datagram{make([]byte, 80+r.IntN(60)), make([]byte, body)}
	for _, part := range [][]byte{d.head, d.body} {
		for i := range part {
			part[i] = byte(r.Uint32())
		}
	}
	return d
}

func (d datagram) bodyTag() []byte { return d.head[60:76] }

// sent is the datagram as it travels.
func (d datagram) sent(mode seal.Mode, p *seal.Peer, number uint64) datagram {
	if mode == seal.Auth {
		p.Tag(number, d.head, d.bodyTag(), d.body)
		return datagram{bytes.Clone(d.head), bytes.Clone(d.body)}
	}
	dst := make([]byte, len(d.head)+len(d.body)+seal.TagSize)
	n := p.Encrypt(dst, number, d.head, d.body)
	return datagram{dst[:len(d.head):len(d.head)], dst[len(d.head):n:n]}
}

// arrives opens a datagram and returns it as it was before.
func (d datagram) arrives(mode seal.Mode, p *seal.Peer, number uint64) (datagram, error) {
	if mode == seal.Auth {
		return d, p.Check(number, d.head, d.bodyTag(), d.body)
	}
	all := append(append(append([]byte(nil), d.head...), d.body...), "what follows...."...)
	n := len(d.head) + len(d.body)
	err := p.Decrypt(number, all[:n])
	if string(all[n:]) != "what follows...." {
		panic("what follows the datagram has changed")
	}
	return datagram{all[:len(d.head)], all[len(d.head):n]}, err
}

var protecting = []seal.Mode{seal.Auth, seal.Encrypt}

// each runs f for both modes that protect and for datagrams with and without a body.
func each(t *testing.T, f func(t *testing.T, mode seal.Mode, d datagram)) {
	for _, mode := range protecting {
		for _, body := range []int{0, 1, 100} {
			t.Run(mode.String(), func(t *testing.T) {
				f(t, mode, newDatagram(rand.New(rand.NewPCG(1, uint64(body))), body))
			})
		}
	}
}

func TestOpensWhatWasSealed(t *testing.T) {
	each(t, func(t *testing.T, mode seal.Mode, d datagram) {
		a, b := pair(mode, seal.NewKey())
		for _, number := range []uint64{0, 1, 7, 3, 1 << 40} {
			got, err := d.sent(mode, a, number).arrives(mode, b, number)
			if err != nil {
				t.Fatalf("number %d: %v", number, err)
			}
			if !bytes.Equal(got.head[seal.TagSize:], d.head[seal.TagSize:]) || !bytes.Equal(got.body, d.body) {
				t.Errorf("number %d: something else came out", number)
			}
		}
	})
}

// A change of any bit is noticed, in the tags as elsewhere.
func TestBitFlips(t *testing.T) {
	each(t, func(t *testing.T, mode seal.Mode, d datagram) {
		a, b := pair(mode, seal.NewKey())
		s := d.sent(mode, a, 1)
		for _, part := range [][]byte{s.head, s.body} {
			for i := range 8 * len(part) {
				part[i/8] ^= 1 << (i % 8)
				if _, err := s.arrives(mode, b, 1); err != seal.ErrForged {
					t.Fatalf("bit %d of %d bytes: %v", i, len(part), err)
				}
				part[i/8] ^= 1 << (i % 8)
			}
		}
		if _, err := s.arrives(mode, b, 1); err != nil {
			t.Errorf("unchanged: %v", err)
		}
	})
}

// Truncated ones, and ones whose head and body are divided elsewhere, are refused.
func TestOtherLengths(t *testing.T) {
	each(t, func(t *testing.T, mode seal.Mode, d datagram) {
		a, b := pair(mode, seal.NewKey())
		s := d.sent(mode, a, 1)
		for n := range s.head {
			if n >= 76 || mode == seal.Encrypt {
				if _, err := (datagram{s.head[:n], nil}).arrives(mode, b, 1); err == nil {
					t.Fatalf("%d bytes of the head alone are accepted", n)
				}
			}
		}
		for n := range s.body {
			if _, err := (datagram{s.head, s.body[:n]}).arrives(mode, b, 1); err == nil && (n > 0 || mode == seal.Encrypt) {
				t.Fatalf("%d bytes of %d of the body are accepted", n, len(s.body))
			}
		}
	})
}

func TestReplays(t *testing.T) {
	each(t, func(t *testing.T, mode seal.Mode, d datagram) {
		a, b := pair(mode, seal.NewKey())
		s := d.sent(mode, a, 5)
		if _, err := s.arrives(mode, b, 6); err != seal.ErrForged {
			t.Errorf("under another number: %v", err)
		}
		if _, err := s.arrives(mode, b, 5); err != nil {
			t.Errorf("the first time: %v", err)
		}
		if _, err := s.arrives(mode, b, 5); err != seal.ErrReplayed {
			t.Errorf("the second time: %v", err)
		}
		if _, err := d.sent(mode, a, 5000).arrives(mode, b, 5000); err != nil {
			t.Error(err)
		}
		if _, err := d.sent(mode, a, 5000-1024).arrives(mode, b, 5000-1024); err != seal.ErrReplayed {
			t.Errorf("too old: %v", err)
		}
		if _, err := d.sent(mode, a, 5000-1023).arrives(mode, b, 5000-1023); err != nil {
			t.Errorf("late: %v", err)
		}
	})
}

// What is refused leaves no trace: a forged datagram must not use up the number of a good one,
// nor move the window.
func TestForgeriesMoveNothing(t *testing.T) {
	each(t, func(t *testing.T, mode seal.Mode, d datagram) {
		a, b := pair(mode, seal.NewKey())
		if _, err := d.arrives(mode, b, 1<<60); err != seal.ErrForged {
			t.Fatal(err)
		}
		if _, err := d.sent(mode, a, 1).arrives(mode, b, 1); err != nil {
			t.Error(err)
		}
	})
}

// A datagram is good for one direction between two processes of one job.
func TestKeysDiffer(t *testing.T) {
	each(t, func(t *testing.T, mode seal.Mode, d datagram) {
		key := seal.NewKey()
		a, b := pair(mode, key)
		s := d.sent(mode, a, 1)
		if _, err := s.arrives(mode, a, 1); err != seal.ErrForged {
			t.Errorf("turned back at its sender: %v", err)
		}
		if _, err := s.arrives(mode, seal.NewRing(mode, key, "c", readable).Peer("a"), 1); err != seal.ErrForged {
			t.Errorf("passed on to a third: %v", err)
		}
		if _, err := s.arrives(mode, seal.NewRing(mode, key, "b", readable).Peer("c"), 1); err != seal.ErrForged {
			t.Errorf("taken for a third's: %v", err)
		}
		if _, stranger := pair(mode, seal.NewKey()); stranger != nil {
			if _, err := s.arrives(mode, stranger, 1); err != seal.ErrForged {
				t.Errorf("in another job: %v", err)
			}
		}
		if _, err := s.arrives(mode, b, 1); err != nil {
			t.Error(err)
		}
		// Names are not run together.
		x, y := seal.NewRing(mode, key, "ab", readable).Peer("c"), seal.NewRing(mode, key, "bc", readable).Peer("a")
		if _, err := d.sent(mode, x, 2).arrives(mode, y, 2); err != seal.ErrForged {
			t.Errorf("names run together: %v", err)
		}
	})
}

// A head cannot stand for a body, nor a body for another one's.
func TestPartsAreBound(t *testing.T) {
	a, b := pair(seal.Auth, seal.NewKey())
	r := rand.New(rand.NewPCG(2, 2))
	x, y := newDatagram(r, 100), newDatagram(r, 100)
	x, y = x.sent(seal.Auth, a, 1), y.sent(seal.Auth, a, 2)
	if _, err := (datagram{x.head, y.body}).arrives(seal.Auth, b, 1); err != seal.ErrForged {
		t.Errorf("another body: %v", err)
	}
	if _, err := x.arrives(seal.Auth, b, 1); err != nil {
		t.Error(err)
	}
}

func TestTooShort(t *testing.T) {
	_, b := pair(seal.Auth, seal.NewKey())
	if err := b.Check(1, make([]byte, 15), nil, nil); err != seal.ErrShort {
		t.Error(err)
	}
	if err := b.Check(1, make([]byte, 80), nil, make([]byte, 1)); err != seal.ErrShort {
		t.Error(err)
	}
	if err := b.Decrypt(1, make([]byte, readable-1, 100)); err != seal.ErrShort {
		t.Error(err)
	}
}

// After a sweep the traffic goes on, and what was received stays refused.
func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, mode seal.Mode, d datagram) {
		key := seal.NewKey()
		ra, rb := seal.NewRing(mode, key, "a", readable), seal.NewRing(mode, key, "b", readable)
		a, b := ra.Peer("b"), rb.Peer("a")
		first := d.sent(mode, a, 1)
		if _, err := first.arrives(mode, b, 1); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			ra.Sweep()
			rb.Sweep()
		}
		if _, err := first.arrives(mode, b, 1); err != seal.ErrReplayed {
			t.Errorf("replay after a sweep: %v", err)
		}
		if _, err := d.sent(mode, a, 2).arrives(mode, b, 2); err != nil {
			t.Errorf("after a sweep: %v", err)
		}
	})
}

// Peers at rest have given their ciphers back.
func TestMemoryAtRest(t *testing.T) {
	const peers = 1000
	d := newDatagram(rand.New(rand.NewPCG(1, 1)), 0)
	ring := seal.NewRing(seal.Auth, seal.Key{}, "a", readable)
	all := make([]*seal.Peer, peers)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range all {
		name := strconv.Itoa(i)
		all[i] = ring.Peer(name)
		from := seal.NewRing(seal.Auth, seal.Key{}, name, readable).Peer("a")
		if _, err := d.sent(seal.Auth, from, 1).arrives(seal.Auth, all[i], 1); err != nil {
			t.Fatal(err)
		}
	}
	active := heap()
	ring.Sweep()
	ring.Sweep()
	rest := heap()
	t.Logf("a peer takes %d bytes, at rest %d", (active-before)/peers, (rest-before)/peers)
	if got := (rest - before) / peers; rest > before && got > 512 {
		t.Errorf("a peer at rest takes %d bytes", got)
	}
	runtime.KeepAlive(all)
}

func TestNoAllocation(t *testing.T) {
	for _, mode := range protecting {
		a, b := pair(mode, seal.NewKey())
		d := newDatagram(rand.New(rand.NewPCG(1, 1)), 100)
		buf := make([]byte, 1000)
		number := uint64(0)
		got := testing.AllocsPerRun(100, func() {
			number++
			var err error
			if mode == seal.Auth {
				a.Tag(number, d.head, d.bodyTag(), d.body)
				err = b.Check(number, d.head, d.bodyTag(), d.body)
			} else {
				n := a.Encrypt(buf, number, d.head, d.body)
				err = b.Decrypt(number, buf[:n])
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if got != 0 {
			t.Errorf("%v: %v allocations", mode, got)
		}
	}
}

// FuzzOpen gives arbitrary datagrams to a receiver, which must refuse them all.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{}, 0)
	f.Add(make([]byte, 100), 76)
	f.Add(make([]byte, 200), 92)
	key := seal.Key{1, 2, 3}
	f.Fuzz(func(t *testing.T, data []byte, split int) {
		_, auth := pair(seal.Auth, key)
		_, enc := pair(seal.Encrypt, key)
		split = max(0, min(split, len(data)))
		head, body := data[:split], data[split:]
		var bodyTag []byte
		if len(head) >= 76 {
			bodyTag = head[60:76]
		}
		if auth.Check(1, head, bodyTag, body) == nil {
			t.Error("Check accepts what nobody sent")
		}
		all := append(bytes.Clone(data), make([]byte, seal.TagSize)...)
		if enc.Decrypt(1, all[:len(data)]) == nil {
			t.Error("Decrypt accepts what nobody sent")
		}
	})
}

func BenchmarkAuth(b *testing.B) {
	for _, n := range []int{0, 1400, 60000} {
		d := newDatagram(rand.New(rand.NewPCG(1, 1)), n)
		x, y := pair(seal.Auth, seal.NewKey())
		number := uint64(0)
		b.Run(map[int]string{0: "short", 1400: "1400", 60000: "60000"}[n], func(b *testing.B) {
			for range b.N {
				number++
				x.Tag(number, d.head, d.bodyTag(), d.body)
				if err := y.Check(number, d.head, d.bodyTag(), d.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
