package grim_test

import (
	"bytes"
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
	for _, kind := range []grim.Kind{grim.Pinned, grim.Contiguous} {
		for _, short := range []bool{false, true} {
			c, all, _ := star(t, profile(t, nil), grim.Image{}, 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
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
			for i, size := range []int{0, 1, 3, 4, 511, 512, 513, 4095, 4097, 20000, grim.MaxPayload, 100_001} {
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
