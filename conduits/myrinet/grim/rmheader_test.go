package grim_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// encode returns an operation as it is on the wire, without what is written.
func encode(o grim.Operation) []byte {
	h := grim.Header{Token: 0xa1, Sequence: 0xb2, Source: 0x1122, Destination: 0x3344, Channel: 0x5566}
	extension := o.Encode(&h, nil)
	return append(h.Append(nil), extension...)
}

// TestOperationBits compares operations with their bytes, written by hand: in the form of the paper, with addresses of 32 bits, and with keys.
func TestOperationBits(t *testing.T) {
	at, local, flag := grim.Remote{Offset: 0x01020304}, grim.Remote{Offset: 0x05060708}, grim.Remote{Offset: 0x090a0b0c}
	wideAt, wideLocal, wideFlag := grim.Remote{Key: 0x11121314, Offset: 0x2122232425262728}, grim.Remote{Key: 0x31323334, Offset: 0x41424344_45464748}, grim.Remote{Key: 0x51525354, Offset: 0x61626364_65666768}
	const value = 0x71727374
	for name, c := range map[string]struct {
		o    grim.Operation
		want []byte // from word 1 on, of which byte 0 is the type, and without bytes 1 to 3; then the length in words, the flags, and what follows word 3
		kind byte
		size uint16
		flag byte
	}{
		"RM-V": {
			o: grim.Operation{Type: grim.RMV, At: at, Length: 8}, kind: 5 << 2, size: 2,
			want: []byte{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		},
		"RM-P with a notification": {
			o: grim.Operation{Type: grim.RMP, At: at, Length: 5, Notify: grim.Notification{Where: grim.AtTarget, At: flag, Value: value}}, kind: 6<<2 | 3, size: 2, flag: 2,
			want: []byte{1, 2, 3, 4, 9, 10, 11, 12, 0x71, 0x72, 0x73, 0x74, 0, 0, 0, 0},
		},
		"RM-RV": {
			o: grim.Operation{Type: grim.RMRV, At: at, Local: local, Length: 0xfc00, Notify: grim.Notification{Where: grim.AtInitiator, At: flag}}, kind: 7 << 2, flag: 4,
			want: []byte{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0xfc, 0, 9, 10, 11, 12},
		},
		"RM-V, wide": {
			o: grim.Operation{Type: grim.RMV, Wide: true, At: wideAt, Length: 8}, kind: 5 << 2, size: 2, flag: 1,
			want: []byte{0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0, 0, 0, 0},
		},
		"RM-V, wide, with a notification": {
			o: grim.Operation{Type: grim.RMV, Wide: true, At: wideAt, Length: 8, Notify: grim.Notification{Where: grim.AtInitiator, At: wideFlag, Value: value}}, kind: 5 << 2, size: 5, flag: 5,
			want: []byte{
				0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x71, 0x72, 0x73, 0x74,
				0x51, 0x52, 0x53, 0x54, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
			},
		},
		"RM-RV, wide, with a notification": {
			o: grim.Operation{Type: grim.RMRV, Wide: true, At: wideAt, Local: wideLocal, Length: 0xfc00, Notify: grim.Notification{Where: grim.AtInitiator, At: wideFlag}}, kind: 7 << 2, size: 6, flag: 5,
			want: []byte{
				0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0, 0, 0xfc, 0,
				0x31, 0x32, 0x33, 0x34, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
				0x51, 0x52, 0x53, 0x54, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
			},
		},
	} {
		want := append([]byte{0x06, 0x36, 0xa1, 0xb2, c.kind, 0, 0x11, 0x22, 0, byte(c.size), 0x33, 0x44, 0x55, 0x66, 0, c.flag}, c.want...)
		got := encode(c.o)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: % x\nwant % x", name, got, want)
			continue
		}
		h, err := grim.DecodeHeader(got, grim.HeaderSize+4*int(c.size))
		if err != nil {
			t.Fatal(err)
		}
		if back, err := grim.DecodeOperation(&h, got[grim.HeaderSize:]); err != nil || back != c.o {
			t.Errorf("%s: %+v, %v", name, back, err)
		}
		for n := range got[grim.HeaderSize:] {
			if _, err := grim.DecodeOperation(&h, got[grim.HeaderSize:][:n]); err == nil {
				t.Errorf("%s: an extension of %d B", name, n)
			}
		}
	}
}

// TestMalformedOperation refuses what no NI sends.
func TestMalformedOperation(t *testing.T) {
	for want, h := range map[string]grim.Header{
		"no operation":         {Type: grim.AM},
		"flags 0x6":            {Type: grim.RMV, Handler: 6},
		"flags 0x8":            {Type: grim.RMV, Handler: 8},
		"of 4 B":               {Type: grim.RMRV, Length: 4},
		"of 0 B":               {Type: grim.RMRV, Handler: 1},
		"half a notification":  {Type: grim.RMV, Args: [4]uint32{0, 4}},
		"argument 3":           {Type: grim.RMP, Args: [4]uint32{3: 1}},
		"half a notification ": {Type: grim.RMRV, Args: [4]uint32{3: 4}},
		"at its target":        {Type: grim.RMRV, Handler: 2},
		"no multiple":          {Type: grim.RMV, Handler: 2, Args: [4]uint32{0, 6}},
		"up to 64572":          {Type: grim.RMRV, Args: [4]uint32{2: grim.MaxPayload + 1}},
		"a key":                {Type: grim.RMP, Handler: 1, Args: [4]uint32{1}},
	} {
		if _, err := grim.DecodeOperation(&h, make([]byte, h.Length)); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzOperation has whatever the decoder accepts be what the encoder makes.
func FuzzOperation(f *testing.F) {
	for _, o := range []grim.Operation{
		{Type: grim.RMV, At: grim.Remote{Offset: 7}}, {Type: grim.RMP, At: grim.Remote{Offset: 7}},
		{Type: grim.RMRV, Wide: true, At: grim.Remote{Key: 1, Offset: 1 << 40}, Length: 9, Notify: grim.Notification{Where: grim.AtInitiator, At: grim.Remote{Key: 2}}},
		{Type: grim.RMV, Wide: true, Notify: grim.Notification{Where: grim.AtTarget, At: grim.Remote{Key: 2}, Value: 1}},
	} {
		f.Add(encode(o))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := grim.DecodeHeader(b, len(b))
		if err != nil {
			return
		}
		o, err := grim.DecodeOperation(&h, b[grim.HeaderSize:])
		if err != nil {
			return
		}
		back := h
		extension := o.Encode(&back, nil)
		if back != h || !bytes.Equal(extension, b[grim.HeaderSize:][:len(extension)]) || o.Length < 0 || o.Length > grim.MaxPayload {
			t.Errorf("% x became %+v, and that %+v", b, o, back)
		}
	})
}

// bed is a host with registered memory between memory that is not, and an endpoint at another host; a third injects what it likes.
type bed struct {
	c      *grim.Cluster
	all    [][]*grim.Endpoint
	region *grim.Region
	around []byte
	id     grim.HandlerID
	got    int
}

const guard, inside = 4096, 10_000

func newBed(t testing.TB, change func(*grim.Profile)) *bed {
	b := &bed{around: make([]byte, guard+inside+guard)}
	b.c, b.all, b.id = star(t, profile(t, change), grim.Image{}, 3, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { b.got++ })
	b.region = register(t, b.all[0][0], b.around[guard:guard+inside], grim.Pinned)
	return b
}

// inject has host 2 send a packet to host 0.
func (b *bed) inject(packet []byte) {
	b.c.Fabric.Port(2).Inject(fabric.Packet{Head: []byte{fabric.RouteByte(-2)}, Body: packet})
	b.c.RunUntil(b.c.Now() + 100*vtime.Microsecond)
}

// check fails if anything around the memory has been written, or if host 1 cannot send, write and read any more.
func (b *bed) check(t testing.TB) {
	t.Helper()
	if !bytes.Equal(b.around[:guard], make([]byte, guard)) || !bytes.Equal(b.around[guard+inside:], make([]byte, guard)) {
		t.Error("memory that is not registered has been written")
	}
	from, to := b.all[1][0], b.all[0][0]
	before, done := b.got, 0
	o := grim.RMOptions{Done: func(err error) {
		if err == nil {
			done++
		}
	}}
	data := pattern(inside)
	here := register(t, from, make([]byte, inside), grim.Pinned)
	at := grim.Remote{Key: b.region.Key()}
	if err := errors.Join(from.Write(to.ID(), at, data, o), from.Read(to.ID(), at, here, 0, inside, o), from.Send(to.ID(), b.id, [4]uint32{}, nil)); err != nil {
		t.Fatal(err)
	}
	b.c.RunUntil(b.c.Now() + 10*vtime.Millisecond)
	if done != 2 || b.got != before+1 || !bytes.Equal(here.Bytes(), data) {
		t.Errorf("%d of 2 operations of a third host done, %d of 1 messages", done, b.got-before)
	}
	for _, h := range b.c.Hosts[:2] {
		if err := h.Leaks(); err != nil {
			t.Error(err)
		}
	}
}

// TestForgedReply has replies come that nobody has asked for, or others than were asked for, while a read is under way: it is not changed.
func TestForgedReply(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(p *grim.Profile) { p.Host.Interrupt = vtime.Millisecond }) // so long takes the read
	reader, other := b.all[0][0], b.all[1][0]
	far := register(t, other, pattern(2000), grim.Pinned)
	var sequence, token uint8
	b.c.Hosts[0].Observe(func(s grim.Step, q, n uint8) {
		if s == grim.Sends {
			sequence, token = q, n
		}
	})
	done := 0
	if err := reader.Read(other.ID(), grim.Remote{Key: far.Key()}, b.region, 0, 2000, grim.RMOptions{Done: func(err error) {
		if done++; err != nil {
			t.Error(err)
		}
	}}); err != nil {
		t.Fatal(err)
	}
	for sent := b.c.Hosts[0].Counts().Sent; b.c.Hosts[0].Counts().Sent == sent; {
		b.c.RunUntil(b.c.Now() + vtime.Microsecond)
	}
	right := grim.Header{Type: grim.RMReply, Token: token, Sequence: sequence, Source: other.ID(), Destination: reader.ID(), Handler: 1, Length: 2000, Args: [4]uint32{uint32(far.Key()), 0, 0, 2000}}
	forged := 0
	for _, change := range []func(*grim.Header){
		func(h *grim.Header) { h.Source = b.all[2][0].ID() },
		func(h *grim.Header) { h.Token++ },
		func(h *grim.Header) { h.Token = 255 },
		func(h *grim.Header) { h.Sequence++ },
		func(h *grim.Header) { h.Length = 1999 },
		func(h *grim.Header) { h.Args[2] = 1 },
		func(h *grim.Header) { h.Handler = 0 },
		func(h *grim.Header) { h.Destination = b.all[2][0].ID() },
	} {
		h := right
		change(&h)
		b.c.Fabric.Port(2).Inject(fabric.Packet{Head: append([]byte{fabric.RouteByte(-2)}, h.Append(nil)...), Body: bytes.Repeat([]byte{0xee}, grim.Padded(h.Length))})
		forged++
		for b.c.Fabric.Port(2).Sending() != nil {
			b.c.RunUntil(b.c.Now() + vtime.Microsecond)
		}
	}
	ack := grim.Control{Type: grim.ACK, Token: token, Sequence: sequence, Source: other.ID()}
	b.c.Fabric.Port(2).Inject(fabric.Packet{Head: append([]byte{fabric.RouteByte(-2)}, ack.Append(nil)...)}) // a read is answered by its reply
	b.c.RunUntil(b.c.Now() + 100*vtime.Microsecond)
	if done > 0 || b.c.Hosts[0].Counts().Unknown != uint64(forged)+1 {
		t.Errorf("done %d times by %d unknown replies of %d", done, b.c.Hosts[0].Counts().Unknown, forged+1)
	}
	for range 2 { // the first is taken for the reply; the second comes while its memory is looked up, and the true one later
		b.inject(append(right.Append(nil), far.Bytes()...))
	}
	forged += 2
	b.c.RunUntil(b.c.Now() + 10*vtime.Millisecond)
	if n := b.c.Hosts[0].Counts(); done != 1 || n.Unknown != uint64(forged)+1 || !bytes.Equal(b.region.Bytes()[:2000], far.Bytes()) {
		t.Errorf("done %d times, %d unknown replies of %d, read %v", done, n.Unknown, forged+1, bytes.Equal(b.region.Bytes()[:2000], far.Bytes()))
	}
	b.check(t)
}

// FuzzFrames injects whatever it likes into a NIC, as the next message of a host: nothing outside of registered memory is written, and others go on.
func FuzzFrames(f *testing.F) {
	chance := rand.New(rand.NewPCG(3, 4))
	b := newBed(f, nil)
	address, err := b.region.Address(0)
	if err != nil {
		f.Fatal(err)
	}
	physical, err := b.region.Physical(0)
	if err != nil {
		f.Fatal(err)
	}
	for range 20 {
		offset := uint64(chance.IntN(2*inside)) - inside/2
		n := grim.Notification{Where: grim.Where(chance.IntN(3))}
		if n.Where != grim.Nowhere {
			n = grim.Notification{Where: n.Where, At: grim.Remote{Key: b.region.Key(), Offset: offset &^ 3}, Value: 77}
		}
		for _, o := range []grim.Operation{
			{Type: grim.RMV, Wide: true, At: grim.Remote{Key: b.region.Key(), Offset: offset}, Length: chance.IntN(5000), Notify: n},
			{Type: grim.RMV, At: grim.Remote{Offset: uint64(address) + offset}, Length: chance.IntN(5000)},
			{Type: grim.RMP, At: grim.Remote{Offset: physical + offset}, Length: chance.IntN(5000)},
			{Type: grim.RMRV, Wide: true, At: grim.Remote{Key: b.region.Key(), Offset: offset}, Length: chance.IntN(5000)},
		} {
			h := grim.Header{Source: b.all[2][0].ID(), Destination: b.all[0][0].ID()}
			extension := o.Encode(&h, nil)
			packet := append(h.Append(nil), extension...)
			f.Add(append(packet, bytes.Repeat([]byte{0xee}, grim.HeaderSize+grim.Padded(h.Length)-len(packet))...))
		}
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		if len(packet) == 0 || len(packet) > grim.HeaderSize+grim.MaxPayload || fabric.IsRoute(packet[0]) {
			return
		}
		b := newBed(t, nil)
		b.inject(packet)
		b.check(t)
	})
}
