package grim_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestForgedList has an endpoint that is not the server send a list to one that waits for the server's: it is dropped and counted.
func TestForgedList(t *testing.T) {
	t.Parallel()
	c, all, id := star(t, profile(t, func(*grim.Profile) {}), grim.Image{}, 3, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	asks, forges := all[1][0], all[2][0]
	const asked = 1 // star's own was 0
	var failed error
	if err := asks.Find("no such", func(_ grim.HandlerID, err error) { failed = err }); err != nil {
		t.Fatal(err)
	}
	forged := append([]byte{0, 99, 0, 7}, "no such"...)
	if err := forges.Send(asks.ID(), 1, [4]uint32{asked}, forged); err != nil {
		t.Fatal(err)
	}
	c.RunUntil(c.Now() + vtime.Millisecond)
	if got, ok := asks.Lookup("no such"); ok || failed == nil || asks.Counts().BadRequest != 1 {
		t.Errorf("the forged list gives number %d; Find: %v; %+v; others have %d", got, failed, asks.Counts(), id)
	}
}

// TestManyNames has endpoints with more names than a message has room for, which is little: requests and lists come in parts, and all have
// the same numbers.
func TestManyNames(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Queue, p.GRIM.Receive = 96, 96 })
	c, err := grim.NewStar(p, grim.Image{}, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	const names = 300
	var ends []*grim.Endpoint
	known := 0
	for i, h := range c.Hosts {
		e, err := h.Open(0, grim.EndpointOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, e)
		for j := range names {
			if err := e.Register(fmt.Sprint("name ", i, " ", j), func(*grim.Endpoint, *grim.Message) {}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Synchronize(func(err error) {
			if err != nil {
				t.Error(err)
			}
			known++
		}); err != nil {
			t.Fatal(err)
		}
	}
	c.RunUntil(vtime.Second)
	for i := range 3 {
		for j := range names {
			name := fmt.Sprint("name ", i, " ", j)
			server, ok := ends[0].Lookup(name)
			if own, known := ends[i].Lookup(name); !ok || !known || own != server {
				t.Fatalf("%q is %d at endpoint %d, and %d at the server", name, own, i, server)
			}
		}
	}
	if known != 3 || ends[0].Told() != 2 {
		t.Errorf("%d endpoints have the list; the server has answered %d", known, ends[0].Told())
	}
	if err := ends[1].Register(strings.Repeat("x", 80), func(*grim.Endpoint, *grim.Message) {}); err != nil {
		t.Fatal(err)
	}
	if err := ends[1].Synchronize(func(error) {}); !errors.Is(err, grim.ErrTooLarge) {
		t.Errorf("a name that does not fit into a message: %v", err)
	}
}

// TestTooManyNames has more names than numbers: a request that would pass the limit gives none of its names a number.
func TestTooManyNames(t *testing.T) {
	var request []byte
	for i := range 1<<16 - 15 {
		name := fmt.Sprint(i)
		request = append(binary.BigEndian.AppendUint16(request, uint16(len(name))), name...)
	}
	list, ok := grim.TakeRequest(request)
	if !ok || len(list) > 0 {
		t.Errorf("one name too many: well formed %v, and a list of %d B", ok, len(list))
	}
	if list, ok = grim.TakeRequest(request[3:]); !ok || len(list) < grim.MaxPayload {
		t.Errorf("as many names as numbers: well formed %v, and a list of %d B", ok, len(list))
	}
}

// FuzzNames has requests to the server either refused, or answered by a list that is well formed and has numbers of its own for all names.
func FuzzNames(f *testing.F) {
	f.Add([]byte{0, 1, 'a', 0, 2, 'b', 'c', 0, 1, 'a'})
	f.Add([]byte{0, 0})
	f.Add([]byte{0, 16, 0, 1, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, ok := grim.TakeRequest(b)
		if !ok && len(list) > 0 {
			t.Errorf("% x is malformed, and some of its names have numbers: % x", b, list)
		}
		ids, ok := grim.TakeList(list)
		used := map[grim.HandlerID]string{}
		for name, id := range ids {
			if used[id] != "" || id < 16 {
				t.Errorf("%q and %q have number %d", name, used[id], id)
			}
			used[id] = name
		}
		if !ok {
			t.Errorf("% x makes a list that is malformed: % x", b, list)
		}
		grim.TakeList(b)
	})
}
