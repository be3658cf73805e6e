package grim_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// register registers memory at the host of an endpoint.
func register(t testing.TB, e *grim.Endpoint, b []byte, kind grim.Kind) *grim.Region {
	t.Helper()
	r, err := e.RegisterMemory(b, kind)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWrite writes and reads back memory of both kinds, in all forms, of all sorts of sizes and offsets: nothing else is changed, and the completions come.
func TestWrite(t *testing.T) {
	t.Parallel()
	const size = 400_000
	images := []grim.Image{{}, {Queue: grim.Hybrid}, {Queue: grim.Slotted}, {NoControlQueue: true, PerNI: true}}
	for _, kind := range []grim.Kind{grim.Pinned, grim.Contiguous} {
		for i, short := range []bool{false, true, false, true} {
			c, all, _ := star(t, profile(t, nil), images[i], 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
			from, to := all[0][0], all[1][0]
			there := register(t, to, make([]byte, size), kind)
			here := register(t, from, make([]byte, size), kind)
			want := make([]byte, size)
			offset := uint64(0)
			at := func() grim.Remote {
				if !short {
					return grim.Remote{Key: there.Key(), Offset: offset}
				}
				a, err := there.Address(offset)
				if err != nil {
					t.Fatal(err)
				}
				return grim.Remote{Offset: uint64(a)}
			}
			fetched, done := 0, 0
			o := grim.RMOptions{Fetched: func() { fetched++ }, Done: func(err error) {
				if done++; err != nil {
					t.Error(err)
				}
			}}
			n := 0
			for i, size := range []int{0, 0, 1, 3, 4, 511, 512, 513, 4095, 4097, 20000, grim.MaxPayload, 100_001} {
				data := pattern(size)
				copy(want[offset:], data)
				var err error
				if i%2 == 0 {
					err = from.Write(to.ID(), at(), data, o)
					clear(data) // it has been copied
				} else {
					copy(here.Bytes()[offset:], data)
					err = from.WriteFrom(to.ID(), at(), here, offset, size, o)
				}
				if err != nil {
					t.Fatal(err)
				}
				n++
				offset += uint64(size) + 1
			}
			c.RunUntil(c.Now() + 100*vtime.Millisecond)
			if fetched != n || done != n || !bytes.Equal(there.Bytes(), want) {
				t.Errorf("%v, short %v: %d of %d fetched, %d done; as written: %v", kind, short, fetched, n, done, bytes.Equal(there.Bytes(), want))
			}
			clear(here.Bytes())
			offset = 5
			read := false
			if err := from.Read(to.ID(), at(), here, 5, size-10, grim.RMOptions{Done: func(err error) { read = err == nil }}); err != nil {
				t.Fatal(err)
			}
			c.RunUntil(c.Now() + 100*vtime.Millisecond)
			clear(want[:5])
			clear(want[size-5:])
			if !read || !bytes.Equal(here.Bytes(), want) {
				t.Errorf("%v, short %v: read %v, as written %v", kind, short, read, bytes.Equal(here.Bytes(), want))
			}
			for _, h := range c.Hosts {
				if err := h.Leaks(); err != nil {
					t.Error(err)
				}
			}
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestOrder is the table of the order of messages and remote memory: RM before AM and before RM stay in order, also when the first one has to wait for the host to translate
// its address and the second one does not; RM overtakes AM.
func TestOrder(t *testing.T) {
	t.Parallel()
	const n = 3000
	var first, second *grim.Region
	handled, wrong := 0, 0
	c, all, id := star(t, profile(t, nil), grim.Image{}, 2, 1, grim.EndpointOptions{}, func(_ *grim.Endpoint, m *grim.Message) {
		if handled++; uint32(first.Bytes()[n-1]) != m.Args[0] {
			wrong++
		}
	})
	from, to := all[0][0], all[1][0]
	second = register(t, to, make([]byte, 1000), grim.Contiguous) // in the cache
	write := func(r *grim.Region, b []byte) {
		t.Helper()
		if err := from.Write(to.ID(), grim.Remote{Key: r.Key()}, b, grim.RMOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range byte(20) {
		first = register(t, to, make([]byte, n), grim.Pinned) // not in the cache
		write(first, bytes.Repeat([]byte{i + 1}, n))
		if i%2 == 0 {
			send(t, from, to, id, uint32(i+1), nil)
		} else {
			write(second, []byte{i + 1})
		}
		for range 400 {
			c.RunUntil(c.Now() + vtime.Microsecond)
			if second.Bytes()[0] == i+1 && first.Bytes()[n-1] != i+1 {
				t.Fatalf("round %d: the second write is there before the first", i)
			}
		}
		if i%2 != 0 && second.Bytes()[0] != i+1 {
			t.Errorf("round %d: the write has not come", i)
		}
	}
	if n := c.Hosts[1].Counts(); handled != 10 || wrong > 0 || n.Misses != 20 || n.Refused < 20 {
		t.Errorf("%d of 10 messages handled, %d before the write that was sent first; %+v", handled, wrong, n)
	}

	to.Attend(false)
	send(t, from, to, id, 0, nil)
	write(second, []byte{99})
	c.RunUntil(c.Now() + 200*vtime.Microsecond)
	if second.Bytes()[0] != 99 || handled != 10 {
		t.Error("a write behind a message whose handler has not been called has not overtaken it")
	}
}

// TestCache counts the misses of the translation cache, each of which interrupts the host.
func TestCache(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Static, p.GRIM.Runtime, p.GRIM.Pages = 1, 2, 2 })
	c, all, _ := star(t, p, grim.Image{}, 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	from, to := all[0][0], all[1][0]
	page := uint64(p.GRIM.Page)
	static := register(t, to, make([]byte, 4*page), grim.Contiguous)
	full := register(t, to, make([]byte, 4*page), grim.Contiguous)
	pinned := register(t, to, make([]byte, 12*page), grim.Pinned)
	if !static.Static() || full.Static() || pinned.Static() {
		t.Errorf("static: %v, %v, %v", static.Static(), full.Static(), pinned.Static())
	}
	for i, w := range []struct {
		r      *grim.Region
		at, n  uint64
		misses uint64
	}{
		{static, 0, 4 * page, 0},          // a static entry
		{full, 0, 4 * page, 1},            // none was left; one run-time entry has all of a contiguous block
		{full, page, page, 0},             // now it is there
		{pinned, 0, 2 * page, 1},          // the first two pages
		{pinned, page / 2, page, 0},       // among them
		{full, 0, 1, 0},                   // still there
		{pinned, 2 * page, 1, 1},          // the next two: the oldest entry, that of the block, goes
		{full, 0, 1, 1},                   // and comes again
		{pinned, 2*page - 1, 2, 2},        // the first two went, and make the second two go
		{pinned, 3 * page, 5 * page, 2},   // three entries for one message, with two places
		{pinned, 12*page - 1, 1, 1},       // the last byte
		{pinned, 11 * page, page - 10, 0}, // the last page
	} {
		before := c.Hosts[1].Counts().Misses
		done := false
		data := pattern(int(w.n))
		if err := from.Write(to.ID(), grim.Remote{Key: w.r.Key(), Offset: w.at}, data, grim.RMOptions{Done: func(err error) { done = err == nil }}); err != nil {
			t.Fatal(err)
		}
		c.RunUntil(c.Now() + 5*vtime.Millisecond)
		if got := c.Hosts[1].Counts().Misses - before; got != w.misses || !done || !bytes.Equal(w.r.Bytes()[w.at:w.at+w.n], data) {
			t.Errorf("write %d: %d misses, want %d; done %v", i, got, w.misses, done)
		}
	}
}

// TestUnregistered names memory that is not registered, wholly or in part: nothing is written, the initiator is told, and what follows comes.
func TestUnregistered(t *testing.T) {
	t.Parallel()
	p := profile(t, nil)
	page := uint64(p.GRIM.Page)
	c, all, _ := star(t, p, grim.Image{}, 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	from, to := all[0][0], all[1][0]
	here := register(t, from, make([]byte, 4*page), grim.Pinned)
	there := register(t, to, make([]byte, 2*page+100), grim.Pinned)
	block := register(t, to, make([]byte, 300), grim.Contiguous)
	stale := register(t, to, make([]byte, page), grim.Pinned)
	old := stale.Key()
	if err := to.UnregisterMemory(stale, nil); err != nil {
		t.Fatal(err)
	}
	again := register(t, to, make([]byte, page), grim.Pinned)
	if again.Key() == old {
		t.Error("the key stands for other memory")
	}
	address, err := there.Address(0)
	if err != nil {
		t.Fatal(err)
	}
	physical, err := there.Physical(2 * page) // the page that is not full
	if err != nil {
		t.Fatal(err)
	}
	keyed := func(r *grim.Region, offset uint64) grim.Remote { return grim.Remote{Key: r.Key(), Offset: offset} }
	places := map[string]grim.Remote{
		"no key":                          {Key: 0xfff12345, Offset: 0},
		"a key of memory that has gone":   {Key: old},
		"the key of another host":         {Key: here.Key() + 7},
		"behind the end":                  keyed(there, there.Size()),
		"partly behind the end":           keyed(there, there.Size()-100),
		"partly behind the end, a block":  keyed(block, 200),
		"before the beginning":            keyed(there, 1<<64-50),
		"address 0":                       {},
		"an address behind the end":       {Offset: uint64(address) + there.Size() - 50},
		"an address before the beginning": {Offset: uint64(address) - 50},
		"addresses beyond 4 GB":           {Offset: 1<<32 - 50},
		"an address of 64 bits":           {Offset: 1 << 40},
	}
	want := uint64(0)
	n := 101
	refused := func(what string, f func(o grim.RMOptions) error) {
		t.Helper()
		want++
		var got error
		called := 0
		if err := f(grim.RMOptions{Done: func(err error) { got, called = err, called+1 }}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		c.RunUntil(c.Now() + vtime.Millisecond)
		if called != 1 || got != grim.ErrUnregistered {
			t.Errorf("%s: done %d times, %v", what, called, got)
		}
		if counts := c.Hosts[1].Counts(); counts.Unregistered != want {
			t.Errorf("%s: %d counted, want %d", what, counts.Unregistered, want)
		}
	}
	data := bytes.Repeat([]byte{0xee}, n)
	for what, at := range places {
		refused("write: "+what, func(o grim.RMOptions) error { return from.Write(to.ID(), at, data, o) })
		refused("read: "+what, func(o grim.RMOptions) error { return from.Read(to.ID(), at, here, 0, n, o) })
		if at.Offset%4 == 0 {
			refused("notification: "+what, func(o grim.RMOptions) error {
				o.Notify = grim.Notification{Where: grim.AtTarget, At: at, Value: 0xeeeeeeee}
				if at == keyed(there, there.Size()-100) || at == keyed(block, 200) {
					o.Notify.At.Offset += 100 // that is the end
				}
				return from.Write(to.ID(), keyed(block, 0), data, o)
			})
		}
	}
	for what, at := range map[string]uint64{"address 0": 0, "behind a page that is not full": physical + 50, "nothing": 1 << 50, "the last": 1<<64 - 50} {
		refused("physical: "+what, func(o grim.RMOptions) error { return from.WritePhysical(to.ID(), at, data, o) })
	}
	want-- // it is the initiator that refuses, when the bytes are there
	copy(block.Bytes(), data)
	refused("notification of a read", func(o grim.RMOptions) error {
		o.Notify = grim.Notification{Where: grim.AtInitiator, At: keyed(here, here.Size())}
		return from.Read(to.ID(), keyed(block, 0), here, page-50, n, o)
	})
	if got := c.Hosts[0].Counts().Unregistered; got != 1 {
		t.Errorf("the initiator has refused %d notifications", got)
	}
	clear(block.Bytes())
	for _, r := range []*grim.Region{here, there, block, stale, again} {
		if !bytes.Equal(r.Bytes(), make([]byte, r.Size())) {
			t.Error("something has been written")
		}
	}
	ok := false
	if err := from.Write(to.ID(), keyed(there, there.Size()-uint64(n)), data, grim.RMOptions{Done: func(err error) { ok = err == nil }}); err != nil {
		t.Fatal(err)
	}
	c.RunUntil(c.Now() + vtime.Millisecond)
	if !ok || !bytes.HasSuffix(there.Bytes(), data) {
		t.Error("a write behind them has not come")
	}
	for _, h := range c.Hosts {
		if err := h.Leaks(); err != nil {
			t.Error(err)
		}
	}
}

// TestNotification has words written at both ends, when the data is there.
func TestNotification(t *testing.T) {
	t.Parallel()
	c, all, _ := star(t, profile(t, nil), grim.Image{}, 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	from, to := all[0][0], all[1][0]
	const n = 100_000
	here, there := register(t, from, make([]byte, n+8), grim.Pinned), register(t, to, make([]byte, n+8), grim.Pinned)
	flag := func(r *grim.Region) uint32 { return binary.LittleEndian.Uint32(r.Bytes()[n+4:]) }
	short := func(r *grim.Region, offset uint64) grim.Remote {
		a, err := r.Address(offset)
		if err != nil {
			t.Fatal(err)
		}
		return grim.Remote{Offset: uint64(a)}
	}
	wide := func(r *grim.Region, offset uint64) grim.Remote { return grim.Remote{Key: r.Key(), Offset: offset} }
	for i, place := range []func(*grim.Region, uint64) grim.Remote{short, wide} {
		for _, where := range []grim.Where{grim.AtTarget, grim.AtInitiator} {
			clear(here.Bytes())
			clear(there.Bytes())
			at := map[grim.Where]*grim.Region{grim.AtTarget: there, grim.AtInitiator: here}[where]
			o := grim.RMOptions{Notify: grim.Notification{Where: where, At: place(at, n+4), Value: 0x01020304}}
			data := pattern(n)
			if err := from.Write(to.ID(), place(there, 0), data, o); err != nil {
				t.Fatal(err)
			}
			for range 50_000 {
				c.RunUntil(c.Now() + vtime.Microsecond)
				if flag(at) == 0x01020304 {
					break
				}
			}
			if flag(at) != 0x01020304 || flag(here)+flag(there) != 0x01020304 || !bytes.Equal(there.Bytes()[:n], data) {
				t.Errorf("form %d, %d: notified %#x and %#x, written %v", i, where, flag(here), flag(there), bytes.Equal(there.Bytes()[:n], data))
			}
		}
		binary.LittleEndian.PutUint32(here.Bytes()[n+4:], 1)
		if err := from.Read(to.ID(), place(there, 0), here, 0, n, grim.RMOptions{Notify: grim.Notification{Where: grim.AtInitiator, At: place(here, n+4)}}); err != nil {
			t.Fatal(err)
		}
		for range 50_000 {
			c.RunUntil(c.Now() + vtime.Microsecond)
			if flag(here) == 0 {
				break
			}
		}
		if flag(here) != 0 || !bytes.Equal(here.Bytes()[:n], there.Bytes()[:n]) {
			t.Errorf("form %d: a read has notified %d, and read %v", i, flag(here), bytes.Equal(here.Bytes()[:n], there.Bytes()[:n]))
		}
	}
	for what, n := range map[string]grim.Notification{
		"no multiple": {Where: grim.AtTarget, At: wide(there, 2)}, "no host": {Value: 1}, "at no host": {Where: 3},
	} {
		if err := from.Write(to.ID(), wide(there, 0), nil, grim.RMOptions{Notify: n}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
}

// TestBeyond4GB writes and reads a place that no address of 32 bits names.
func TestBeyond4GB(t *testing.T) {
	t.Parallel()
	c, all, _ := star(t, profile(t, nil), grim.Image{}, 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	from, to := all[0][0], all[1][0]
	const size, at = 5 << 30, 4<<30 + 12345
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	there, here := register(t, to, memory, grim.Pinned), register(t, from, make([]byte, 100_000), grim.Pinned)
	if _, err := there.Address(0); err == nil {
		t.Error("5 GB have an address of 32 bits")
	}
	data, done := pattern(100_000), 0
	o := grim.RMOptions{Done: func(err error) {
		if err == nil {
			done++
		}
	}}
	if err := from.Write(to.ID(), grim.Remote{Key: there.Key(), Offset: at}, data, o); err != nil {
		t.Fatal(err)
	}
	if err := from.Read(to.ID(), grim.Remote{Key: there.Key(), Offset: at}, here, 0, len(data), o); err != nil {
		t.Fatal(err)
	}
	c.RunUntil(c.Now() + 20*vtime.Millisecond)
	if done != 2 || !bytes.Equal(memory[at:at+len(data)], data) || !bytes.Equal(here.Bytes(), data) || memory[at-1<<32] != 0 {
		t.Errorf("%d of 2 done; written %v, read %v", done, bytes.Equal(memory[at:at+len(data)], data), bytes.Equal(here.Bytes(), data))
	}
}

// TestDeviceMemory writes the memory of a device at a host that has no endpoint.
func TestDeviceMemory(t *testing.T) {
	t.Parallel()
	p := profile(t, nil)
	c, err := grim.NewStar(p, grim.Image{}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Hosts[0].Open(0, grim.EndpointOptions{})
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, 10_000)
	var told []int
	at, err := c.Hosts[1].Map(frame, func(offset, n int) { told = append(told, offset, n) })
	if err != nil {
		t.Fatal(err)
	}
	data := pattern(5000)
	failed := 0
	o := grim.RMOptions{Done: func(err error) {
		if err != nil {
			failed++
		}
	}}
	device := grim.EndpointID(p.GRIM.Channels) // the first channel of host 1
	if err := errors.Join(e.WritePhysical(device, at+1000, data, o), e.WritePhysical(device, at+6000, data, o)); err != nil {
		t.Fatal(err)
	}
	c.RunUntil(10 * vtime.Millisecond)
	if !bytes.Equal(frame[1000:6000], data) || failed != 1 || !bytes.Equal(frame[6000:], make([]byte, 4000)) || !slices.Equal(told, []int{1000, 5000}) {
		t.Errorf("told of %v, %d failed, want that which goes beyond the end", told, failed)
	}
	if n := c.Hosts[1].Counts(); n.Misses > 0 || n.NoEndpoint > 0 || n.Unregistered != 1 {
		t.Errorf("%+v", n)
	}
}

// TestUnregisterMemory waits for operations that use memory here, and is told when nothing is written there any more.
func TestUnregisterMemory(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Blocks, p.GRIM.Static = 1, 1 })
	c, all, _ := star(t, p, grim.Image{}, 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	from, to := all[0][0], all[1][0]
	here, there := register(t, from, make([]byte, 50_000), grim.Pinned), register(t, to, make([]byte, 50_000), grim.Contiguous)
	at := grim.Remote{Key: there.Key()}
	if _, err := to.RegisterMemory(make([]byte, 1), grim.Contiguous); err == nil || !strings.Contains(err.Error(), "grim.blocks") {
		t.Errorf("a second block: %v", err)
	}
	if _, err := from.RegisterMemory(make([]byte, p.GRIM.Block+1), grim.Contiguous); err == nil || !strings.Contains(err.Error(), "grim.block") {
		t.Errorf("a block that is too large: %v", err)
	}
	free := func() { // as soon as it is
		t.Helper()
		if err := from.UnregisterMemory(here, nil); !errors.Is(err, grim.ErrBusy) {
			t.Fatalf("memory that is used: %v", err)
		}
	}
	fetched, read := false, false
	if err := from.WriteFrom(to.ID(), at, here, 0, 50_000, grim.RMOptions{Fetched: func() { fetched = true }}); err != nil {
		t.Fatal(err)
	}
	free()
	for !fetched {
		free()
		c.RunUntil(c.Now() + vtime.Microsecond)
	}
	if err := from.Read(to.ID(), at, here, 0, 50_000, grim.RMOptions{Done: func(error) { read = true }}); err != nil {
		t.Fatal(err)
	}
	for !read {
		free()
		c.RunUntil(c.Now() + vtime.Microsecond)
	}
	if err := from.UnregisterMemory(here, nil); err != nil {
		t.Fatal(err)
	}
	if err := from.Read(to.ID(), at, here, 0, 1, grim.RMOptions{}); err == nil {
		t.Error("a read into memory that has been unregistered")
	}
	// At any time of a write: none changes the memory after done.
	last := 0
	for i := range 60 {
		data := bytes.Repeat([]byte{byte(i + 1)}, 50_000)
		done, denied := false, error(nil)
		if err := from.Write(to.ID(), grim.Remote{Key: there.Key()}, data, grim.RMOptions{Done: func(err error) { done, denied = true, err }}); err != nil {
			t.Fatal(err)
		}
		c.RunUntil(c.Now() + vtime.Time(i)*20*vtime.Microsecond)
		var left []byte
		gone := there
		if err := to.UnregisterMemory(there, func() { left = bytes.Clone(gone.Bytes()) }); err != nil {
			t.Fatal(err)
		}
		there = register(t, to, make([]byte, 50_000), grim.Kind(i%2))
		c.RunUntil(c.Now() + 4*vtime.Millisecond)
		if !done || left == nil || !bytes.Equal(left, gone.Bytes()) || (denied == nil) != (gone.Bytes()[49_999] != 0) {
			t.Fatalf("write %d: done %v, %v; told %v, changed since %v", i, done, denied, left != nil, !bytes.Equal(left, gone.Bytes()))
		}
		if denied == nil {
			last++
		}
	}
	if last == 0 || last == 60 {
		t.Errorf("%d of 60 writes have come before", last)
	}
	for _, h := range c.Hosts {
		if err := h.Leaks(); err != nil {
			t.Error(err)
		}
	}
}

// TestFragments has messages of an operation beyond the first wait in the host without an overflow queue, and messages behind them too. A limit of messages that programs have not
// answered is none of theirs.
func TestFragments(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Queue = 10_000 })
	c, all, id := star(t, p, grim.Image{}, 2, 1, grim.EndpointOptions{NoOverflow: true, Limit: 1}, func(*grim.Endpoint, *grim.Message) {})
	from, to := all[0][0], all[1][0]
	there := register(t, to, make([]byte, 100_000), grim.Pinned)
	data := pattern(49_000)
	room := 0
	from.OnRoom(func() { room++ })
	before := c.Hosts[0].Counts().Sent
	if err := from.Write(to.ID(), grim.Remote{Key: there.Key(), Offset: 77}, data, grim.RMOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := from.Write(to.ID(), grim.Remote{Key: there.Key()}, data, grim.RMOptions{}); !errors.Is(err, grim.ErrFull) {
		t.Errorf("a second write: %v", err)
	}
	if err := from.Send(to.ID(), id, [4]uint32{}, nil); !errors.Is(err, grim.ErrFull) {
		t.Errorf("a message: %v", err)
	}
	c.RunUntil(c.Now() + 50*vtime.Millisecond)
	// The queue has room for 9,968 B: 8,192-77 up to a page, four times 8,192, and then what is left.
	if got := c.Hosts[0].Counts().Sent - before; got != 6 || room == 0 || !bytes.Equal(there.Bytes()[77:][:len(data)], data) {
		t.Errorf("%d messages, want 6; told of room %d times", got, room)
	}
}

// TestChaosRM has all endpoints of clusters write and read each other's memory, and send messages between that, at random, while receivers stall and
// translation caches are tiny: messages find what was written before them, and reads what was written before those.
func TestChaosRM(t *testing.T) {
	t.Parallel()
	images := []grim.Image{{}, {PerNI: true}, {Queue: grim.Slotted}} // hybrid queues deadlock
	refused, misses := uint64(0), uint64(0)
	for seed := range uint64(10) {
		r, m := chaosRM(t, seed, images[seed%uint64(len(images))])
		refused, misses = refused+r, misses+m
	}
	if refused < 1000 || misses < 1000 {
		t.Errorf("%d messages refused, %d misses: too few to say anything", refused, misses)
	}
}

func chaosRM(t *testing.T, seed uint64, image grim.Image) (refused, misses uint64) {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 1))
	p := profile(t, func(p *grim.Profile) {
		g := &p.GRIM
		g.Channels, g.Queue, g.Slot, g.Headers, g.Receive = 2, 4096, 1100, 1024, 1040
		g.PIO, g.Page, g.Pages, g.Static, g.Runtime, g.Buffers = 200, 256, 2, 2, 2, 2+int(seed%2)
	})
	const hosts, slot = 3, 3000
	c, err := grim.NewStar(p, image, hosts, seed)
	if err != nil {
		t.Fatal(err)
	}
	type way struct{ from, to grim.EndpointID }
	memory := map[grim.EndpointID]*grim.Region{} // a slot for each writer
	image0 := map[way][]byte{}                   // what has been written, by now
	expected := map[way][][]byte{}               // what messages are to find
	got := 0
	all, err := c.OpenAll(p.GRIM.Channels, grim.EndpointOptions{}, map[string]grim.Handler{"test": func(e *grim.Endpoint, m *grim.Message) {
		w := way{m.Source, e.ID()}
		want := expected[w][0]
		expected[w] = expected[w][1:]
		got++
		// RM may overtake the message, so the slot has a counter: it is not behind.
		have := memory[e.ID()].Bytes()[slot*int(m.Source):][:slot]
		if binary.BigEndian.Uint32(have) < binary.BigEndian.Uint32(want) {
			t.Errorf("seed %d, %+v: a message from %d to %d has overtaken a write", seed, image, w.from, w.to)
		}
		e.Compute(vtime.Time(chance.IntN(10)) * vtime.Microsecond)
	}})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := all[0][0].Lookup("test")
	ends := slices.Concat(all...)
	for i, e := range ends {
		memory[e.ID()] = register(t, e, make([]byte, slot*len(ends)), grim.Kind(i%2))
		for _, from := range ends {
			image0[way{from.ID(), e.ID()}] = make([]byte, slot)
		}
	}
	landing := map[grim.EndpointID]*grim.Region{}
	busy := map[grim.EndpointID]bool{}
	for _, e := range ends {
		landing[e.ID()] = register(t, e, make([]byte, slot), grim.Pinned)
	}
	sent, done, asked := 0, 0, 0
	count := uint32(0)
	note := func(err error) {
		if done++; err != nil {
			t.Error(err)
		}
	}
	for range 60 {
		for _, e := range ends {
			e.Attend(chance.IntN(3) > 0)
			for range chance.IntN(5) {
				to := ends[chance.IntN(len(ends))]
				w := way{e.ID(), to.ID()}
				base := uint64(slot * int(e.ID()))
				at := grim.Remote{Key: memory[to.ID()].Key(), Offset: base}
				var err error
				switch n := 4 + chance.IntN(40)*chance.IntN(40); chance.IntN(4) {
				case 0:
					send(t, e, to, id, 0, nil)
					expected[w] = append(expected[w], bytes.Clone(image0[w]))
					sent++
				case 1, 2:
					count++
					data := pattern(n)
					binary.BigEndian.PutUint32(data, count)
					copy(image0[w], data)
					err = e.Write(to.ID(), at, data, grim.RMOptions{Done: note})
					asked++
				case 3:
					if busy[e.ID()] {
						break
					}
					busy[e.ID()] = true
					want, here := bytes.Clone(image0[w][:n]), landing[e.ID()]
					after := count
					err = e.Read(to.ID(), at, here, 7, n, grim.RMOptions{Done: func(err error) {
						busy[e.ID()] = false
						note(err)
						if !bytes.Equal(here.Bytes()[7:7+n], want) {
							t.Errorf("seed %d, %+v: a read of %d B by %d from %d has not found what was written last, up to %d", seed, image, n, w.from, w.to, after)
						}
					}})
					asked++
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		c.RunUntil(c.Now() + vtime.Time(chance.IntN(200))*vtime.Microsecond)
	}
	for _, e := range ends {
		e.Attend(true)
	}
	c.RunUntil(c.Now() + 200*vtime.Millisecond)
	if got != sent || done != asked { // the library would look for room for ever
		t.Fatalf("seed %d, %+v: %d of %d messages, %d of %d operations; %d packets wait", seed, image, got, sent, done, asked, len(c.Fabric.Waits()))
	}
	for w, want := range image0 {
		if !bytes.Equal(memory[w.to].Bytes()[slot*int(w.from):][:slot], want) {
			t.Errorf("seed %d, %+v: the memory of %d is not what %d has written", seed, image, w.to, w.from)
		}
	}
	for _, h := range c.Hosts {
		n := h.Counts()
		refused, misses = refused+n.Refused, misses+n.Misses
		if n.Gap+n.Unknown+n.Malformed+n.Stray+n.NoEndpoint+n.Unregistered > 0 {
			t.Errorf("seed %d, %+v: %+v", seed, image, n)
		}
		if err := h.Leaks(); err != nil {
			t.Errorf("seed %d, %+v: %v", seed, image, err)
		}
	}
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	return refused, misses
}

// TestMissLeavesRoom has more writes wait for the host than there are receive buffers: a message between others comes meanwhile.
func TestMissLeavesRoom(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.Host.Interrupt = vtime.Millisecond })
	got := 0
	c, all, id := star(t, p, grim.Image{}, 5, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { got++ })
	to := all[0][0]
	done := 0
	for _, from := range all[1:4] {
		r := register(t, to, make([]byte, 100), grim.Pinned)
		if err := from[0].Write(to.ID(), grim.Remote{Key: r.Key()}, pattern(100), grim.RMOptions{Done: func(err error) {
			if done++; err != nil {
				t.Error(err)
			}
		}}); err != nil {
			t.Fatal(err)
		}
	}
	c.RunUntil(c.Now() + 100*vtime.Microsecond)
	if n := c.Hosts[0].Counts(); n.Misses != 1 || n.Refused == 0 {
		t.Errorf("%+v", n)
	}
	if stolen := to.Free() - c.Now(); stolen < vtime.Millisecond/2 {
		t.Errorf("the interrupt has left the program its processor: %v", stolen)
	}
	send(t, all[4][0], to, id, 0, nil)
	c.RunUntil(c.Now() + 300*vtime.Microsecond)
	if counts := c.Hosts[0].Counts(); to.Waiting()+got != 1 || done > 0 {
		t.Errorf("%d messages have come while writes wait for the host, %d of which are done: %+v", to.Waiting()+got, done, counts)
	}
	c.RunUntil(c.Now() + 10*vtime.Millisecond)
	if done != 3 || got != 1 {
		t.Errorf("%d of 3 writes done, %d of 1 messages handled", done, got)
	}
}

// TestOwed has writes come to an NI whose link is busy: it takes no more in than its queue of control messages has room for, though it answers only when bytes are in the
// memory of the host.
func TestOwed(t *testing.T) {
	t.Parallel()
	for _, image := range []grim.Image{{}, {NoControlQueue: true}} {
		p := profile(t, func(p *grim.Profile) {
			p.GRIM.Controls, p.GRIM.Buffers, p.GRIM.Queue, p.GRIM.PIO = 2, 6, 40_000, 64<<10
		})
		c, all, id := star(t, p, image, 4, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
		to := all[0][0]
		r := register(t, to, make([]byte, 4096), grim.Contiguous)
		for i := range 40 {
			send(t, to, all[1][0], id, 0, make([]byte, 20_000))
			for _, from := range all[2:] {
				if err := from[0].Write(to.ID(), grim.Remote{Key: r.Key()}, pattern(50+i), grim.RMOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.RunUntil(c.Now() + 20*vtime.Millisecond)
		most := p.GRIM.Controls
		if image.NoControlQueue {
			most = 1
		}
		if n := c.Hosts[0].Counts(); n.MostQueued != most || n.Received < 80 {
			t.Errorf("%+v: up to %d control messages queued, want %d; %d messages have come", image, n.MostQueued, most, n.Received)
		}
	}
}

// TestUnregisterDuringMiss unregisters memory that a write has found in the cache, and that waits for the host because of its notification: nothing is written.
func TestUnregisterDuringMiss(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.Host.Interrupt = vtime.Millisecond })
	c, all, _ := star(t, p, grim.Image{}, 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	from, to := all[0][0], all[1][0]
	block, flag := register(t, to, make([]byte, 100), grim.Contiguous), register(t, to, make([]byte, 4), grim.Pinned)
	var got error
	if err := from.Write(to.ID(), grim.Remote{Key: block.Key()}, pattern(100), grim.RMOptions{
		Notify: grim.Notification{Where: grim.AtTarget, At: grim.Remote{Key: flag.Key()}, Value: 1},
		Done:   func(err error) { got = err },
	}); err != nil {
		t.Fatal(err)
	}
	c.RunUntil(c.Now() + 300*vtime.Microsecond)
	gone := false
	if err := to.UnregisterMemory(block, func() { gone = true }); err != nil {
		t.Fatal(err)
	}
	c.RunUntil(c.Now() + 300*vtime.Microsecond)
	if !gone || got != nil {
		t.Errorf("told %v, %v, before the host has answered", gone, got)
	}
	c.RunUntil(c.Now() + 2*vtime.Millisecond)
	if got != grim.ErrUnregistered || !bytes.Equal(block.Bytes(), make([]byte, 100)) || flag.Bytes()[0] != 0 {
		t.Errorf("%v; written: %v, notified: %v", got, !bytes.Equal(block.Bytes(), make([]byte, 100)), flag.Bytes()[0] != 0)
	}
}

// TestScattered has two endpoints write from pages that are so small that the chain of the host DMA engine has no room for the messages of both: they wait for it.
func TestScattered(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Page = 64 })
	c, all, _ := star(t, p, grim.Image{UnlimitedSRAM: true}, 2, 2, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	const n = 100_000
	done := 0
	var there [2]*grim.Region
	for i, from := range all[0] {
		here := register(t, from, pattern(n+i), grim.Pinned)
		there[i] = register(t, all[1][0], make([]byte, n+i), grim.Pinned)
		if err := from.WriteFrom(all[1][0].ID(), grim.Remote{Key: there[i].Key()}, here, 0, n+i, grim.RMOptions{Done: func(err error) {
			if done++; err != nil {
				t.Error(err)
			}
		}}); err != nil {
			t.Fatal(err)
		}
	}
	c.RunUntil(c.Now() + 100*vtime.Millisecond)
	if done != 2 || !bytes.Equal(there[0].Bytes(), pattern(n)) || !bytes.Equal(there[1].Bytes(), pattern(n+1)) {
		t.Errorf("%d of 2 writes done", done)
	}
}
