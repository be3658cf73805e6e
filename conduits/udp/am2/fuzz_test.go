package am2_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// FuzzReceive throws datagrams at a bundle that has messages under way. Each begins with its
// length and a choice of fields that are set right, so that more than the first check is
// reached. Nothing may be stored outside the segment, and an honest peer is served afterwards.
func FuzzReceive(f *testing.F) {
	for _, cfg := range fuzzConfigs() {
		f.Add(record(f, cfg, 1))
	}
	f.Add([]byte{80, 0, 0xff})
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, cfg := range fuzzConfigs() {
			attack(t, cfg, input)
		}
	})
}

// TestMutated is FuzzReceive with datagrams of exchanges in which some bytes are wrong.
func TestMutated(t *testing.T) {
	var recorded [][]byte
	for _, cfg := range fuzzConfigs() {
		recorded = append(recorded, record(t, cfg, 6))
	}
	for seed := range uint64(500 * *seeds) {
		r := rand.New(rand.NewPCG(seed, 9))
		input := slices.Clone(recorded[r.IntN(len(recorded))])
		for at := 0; at+3 < len(input); at += 3 + int(binary.LittleEndian.Uint16(input[at:])) {
			input[at+2] = byte(r.Uint32())
		}
		for range r.IntN(40) {
			input[r.IntN(len(input))] = byte(r.Uint32())
		}
		for _, cfg := range fuzzConfigs() {
			attack(t, cfg, input)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func fuzzConfigs() []am2.Config {
	c := small()
	c.Receive, c.Assemblies, c.Channels, c.Peers = 20, 3, 10, 10
	h := am2.HPAM()
	h.Pack = am2.MinDatagram
	h.MaxMedium, h.MaxBulk = 300, 300
	return []am2.Config{c, h}
}

// record returns the datagrams of a short exchange as an input of FuzzReceive.
func record(t testing.TB, cfg am2.Config, letters int) (input []byte) {
	w := newWorld(t)
	w.mtu = 600
	x := newExchange(w, 1, 2, 1, cfg)
	n := 0
	w.fate = func(_, to *node, d []byte) []time.Duration {
		if to == w.nodes[0] {
			input = binary.LittleEndian.AppendUint16(input, uint16(len(d)))
			input = append(append(input, 0), d...)
		}
		if n++; n%5 == 0 {
			return nil
		}
		return fates[0]
	}
	x.post(letters, 250, 250)
	x.finish(limit)
	return input
}

// attack has a bundle receive the datagrams of the input.
func attack(t *testing.T, cfg am2.Config, input []byte) {
	w := newWorld(t)
	w.mtu = 600
	x, y := w.add(cfg), w.add(cfg)
	memory := make([]byte, 1<<12)
	inside := memory[1<<10 : 1<<11]
	hx := &handler{segment: inside}
	hx.arrived = func(m *am2.Message) bool {
		for i := range m.NArgs {
			_ = m.Args[i]
		}
		if m.Kind == am2.Long && m.Data != nil && m.Offset+uint64(m.Len) > uint64(len(inside)) {
			t.Fatalf("a Long of %d bytes at %d", m.Len, m.Offset)
		}
		return false
	}
	ex := x.endpoint(0, 1, hx)
	if err := ex.Map(0, y.name(0), jobTag); err != nil {
		t.Fatal(err)
	}
	for _, l := range []letter{{id: 1, nargs: 2}, {id: 2, kind: am2.Medium, size: 300}, {id: 3, nargs: 1}} {
		op := l.op(0)
		if r := ex.Reserve(&op); r == am2.Reserved {
			l.fill(&op)
			ex.Commit(&op)
		}
	}
	if cfg.ReplyAcks {
		attackWith(w, x, y, input, 0x80)
	} else {
		attackWith(w, x, y, input, 0)
	}
	for i := range memory {
		if (i < 1<<10 || i >= 1<<11) && memory[i] != 0 {
			t.Fatalf("byte %d outside the segment was written", i-1<<10)
		}
	}
	serves(t, w, x, cfg)
}

func attackWith(w *world, x, y *node, input []byte, flags byte) {
	for len(input) >= 3 {
		n, set := min(int(binary.LittleEndian.Uint16(input)), len(input)-3), input[2]
		d := append([]byte(nil), input[3:3+n]...)
		input = input[3+n:]
		if len(d) >= am2.FixedHead {
			repair(d, set, flags, y)
		}
		w.now += 100 * time.Microsecond
		x.receive(y, d)
		for x.b.Deliver(w.now, 10) > 0 {
		}
		x.b.Service(w.now)
	}
}

// repair sets fields of a header right.
func repair(d []byte, set, flags byte, y *node) {
	if set&1 != 0 {
		d[16] = 2 // version
		d[18] = flags | d[18]&0x7f
	}
	if set&2 != 0 { // both ends
		clear(d[20:24])
		binary.LittleEndian.PutUint32(d[24:], 1)
		binary.LittleEndian.PutUint32(d[28:], 1)
	}
	if set&4 != 0 {
		binary.LittleEndian.PutUint64(d[40:], uint64(jobTag))
	}
	if set&8 != 0 {
		d[17] %= 7 // kind
	}
}

// serves checks that an honest third party is served.
func serves(t *testing.T, w *world, x *node, cfg am2.Config) {
	z := w.add(cfg)
	e := z.endpoint(0, 1, &handler{})
	if err := e.Map(0, x.name(0), jobTag); err != nil {
		t.Fatal(err)
	}
	before := x.b.Stats().Requests
	op := am2.Op{NArgs: 1}
	if r := e.Reserve(&op); r != am2.Reserved {
		t.Fatal(r)
	}
	e.Commit(&op)
	w.until(time.Minute, func() bool { return z.b.Unacknowledged() == 0 })
	if x.b.Stats().Requests <= before {
		t.Fatal("an honest request was not delivered")
	}
}
