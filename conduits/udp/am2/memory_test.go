package am2_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// TestBulkWaits floods a program that computes with payloads in fragments. What is kept for it
// stays within ReceiveBytes and what may be arriving; the rest comes when it polls.
func TestBulkWaits(t *testing.T) {
	cfg := am2.Defaults()
	cfg.ReceiveBytes, cfg.Assemblies = 1<<20, 4
	p := newPair(t, cfg)
	p.y.asleep = true
	const letters = 300
	posted := 0
	p.x.step = func() {
		for posted < letters {
			l := letter{id: uint32(posted), kind: am2.Medium, nargs: 1, size: 40_000}
			if !p.post(l) {
				return
			}
			posted++
		}
	}
	p.w.push(event{at: time.Second, to: p.x, from: p.y, data: []byte{0}})
	p.w.until(2*time.Second, func() bool { return p.w.now >= time.Second })
	limit := cfg.ReceiveBytes + (cfg.Assemblies+3)*cfg.MaxMedium
	if got := am2.MediumBytes(p.y.b); got > limit || got < cfg.ReceiveBytes {
		t.Errorf("%d bytes of payloads wait, want %d to %d", got, cfg.ReceiveBytes, limit)
	}
	p.y.asleep = false
	p.w.until(time.Minute, func() bool { return len(p.arrived) == letters && p.w.quiet() })
	if err := am2.Leaks(p.y.b); err != nil {
		t.Error(err)
	}
}

// TestPacketsWait floods a program that computes with packets of different lengths. They do not
// pin much more memory than they are long.
func TestPacketsWait(t *testing.T) {
	for _, size := range []int{0, 1500, 2000, 3000, 7900} {
		cfg := am2.Defaults()
		p := newPair(t, cfg)
		p.w.mtu = cfg.Datagram
		p.y.asleep = true
		const letters = 300
		posted := 0
		p.x.step = func() {
			for posted < letters {
				if !p.post(letter{id: uint32(posted), kind: am2.Medium, nargs: 1, size: size}) {
					return
				}
				posted++
			}
		}
		p.w.push(event{at: time.Second, to: p.x, from: p.y, data: []byte{0}})
		p.w.until(2*time.Second, func() bool { return p.w.now >= time.Second })
		if got, most := am2.PacketBytes(p.y.b), letters*cfg.Pack+16*am2.BlockSize; posted < letters || got > most {
			t.Errorf("%d packets of %d bytes take %d bytes, want %d at most", posted, size, got, most)
		}
		p.y.asleep = false
		p.w.until(time.Minute, func() bool { return len(p.arrived) == letters && p.w.quiet() })
		if err := am2.Leaks(p.y.b); err != nil {
			t.Errorf("packets of %d bytes: %v", size, err)
		}
	}
}

// TestBegunOnly has a peer begin messages and never end one: what it gets for them is bounded.
func TestBegunOnly(t *testing.T) {
	cfg := am2.Defaults()
	cfg.Assemblies = 4
	for _, index := range []uint32{0, 1} {
		p := newPair(t, cfg)
		var fragment []byte
		p.w.fate = func(_, to *node, d []byte) []time.Duration {
			if to == p.y && fragment == nil {
				fragment = d
			}
			return nil
		}
		p.post(letter{id: 1, kind: am2.Medium, nargs: 1, size: 40_000})
		if fragment == nil || fragment[17] != 2 {
			t.Fatalf("no fragment: %x", fragment)
		}
		for seq := range uint32(1000) {
			binary.LittleEndian.PutUint64(fragment[32:], uint64(seq)+1)
			binary.LittleEndian.PutUint32(fragment[48:], seq)
			binary.LittleEndian.PutUint16(fragment[70:], 0)
			binary.LittleEndian.PutUint32(fragment[96+12:], index*min(seq, 1))
			p.y.receive(p.x, fragment)
			p.y.b.Service(p.w.now)
		}
		if got, most := am2.MediumBytes(p.y.b), (cfg.Assemblies+3)*cfg.MaxMedium; got > most {
			t.Errorf("%d bytes for messages that never end, want %d at most", got, most)
		}
	}
}
