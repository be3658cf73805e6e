package grim_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestDevice has three programs and a device share a NIC, which take their messages at rates as unequal as can be, the device's the slowest. With
// any-to-any sequencing each gets its messages at its own rate; with sequencing per NI the device holds up all. The device takes every message as
// it was sent, in order, and answers them.
func TestDevice(t *testing.T) {
	t.Parallel()
	for _, perNI := range []bool{false, true} {
		const n, ranks = 30, 3
		p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.Receive, p.GRIM.Queue = 4, 512, 8192 })
		rates := [ranks]vtime.Time{1, 10, 40} // µs for a message
		var handled [ranks]int
		c, all, id := star(t, p, grim.Image{PerNI: perNI}, 2, ranks, grim.EndpointOptions{}, func(e *grim.Endpoint, m *grim.Message) {
			if e.ID() < 4 {
				return
			}
			i := int(e.ID()) - 4
			handled[i]++
			e.Compute(rates[i] * vtime.Microsecond)
		})
		taken := 0
		device, err := c.Hosts[1].OpenDevice(3, 0, func(e *grim.Endpoint, m *grim.Message) vtime.Time {
			if int(m.Args[0]) != taken || !bytes.Equal(m.Payload, pattern(taken)) {
				t.Errorf("message %d with %d B, %d was due", m.Args[0], len(m.Payload), taken)
			}
			taken++
			if err := e.Send(m.Source, id, [4]uint32{}, nil); err != nil {
				t.Error(err)
			}
			return 200 * vtime.Microsecond
		})
		if err != nil {
			t.Fatal(err)
		}
		from, err := c.Hosts[0].Open(3, grim.EndpointOptions{})
		if err != nil {
			t.Fatal(err)
		}
		begin := c.Now()
		for i := range uint32(n) {
			send(t, from, device, id, i, pattern(int(i)))
			for k := range ranks {
				send(t, all[0][k], all[1][k], id, i, nil)
			}
		}
		c.RunUntil(begin + 2*vtime.Millisecond)
		free := handled == [ranks]int{n, n, n} && taken < n/2
		if free == perNI {
			t.Errorf("per NI %v: %v of %d messages handled; the device has taken %d", perNI, handled, n, taken)
		}
		c.RunUntil(begin + 50*vtime.Millisecond)
		if handled != [ranks]int{n, n, n} || taken != n || device.Counts().Received != n || device.Counts().Sent != n || c.Hosts[0].Counts().NoEndpoint != 0 {
			t.Errorf("per NI %v: %v of %d messages handled, the device has taken %d and sent %d answers", perNI, handled, n, taken, device.Counts().Sent)
		}
		for _, h := range c.Hosts {
			if err := h.Leaks(); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Hosts[1].OpenDevice(0, 0, nil); err == nil || !strings.Contains(err.Error(), "takes nothing") {
			t.Error(err)
		}
	}
}

// TestThread has a thread poll for a program that computes: its messages are handled, each later than by a program that polls itself.
func TestThread(t *testing.T) {
	t.Parallel()
	p := profile(t, nil)
	trip := func(o grim.EndpointOptions, attends bool) (took vtime.Time) {
		var came vtime.Time
		now := func() vtime.Time { return 0 }
		c, all, id := star(t, p, grim.Image{}, 2, 1, o, func(*grim.Endpoint, *grim.Message) { came = now() })
		now = c.Now
		all[1][0].Attend(attends)
		begin := c.Now()
		send(t, all[0][0], all[1][0], id, 0, nil)
		c.RunUntil(begin + vtime.Millisecond)
		return came - begin
	}
	polls := trip(grim.EndpointOptions{}, true)
	thread := trip(grim.EndpointOptions{Thread: true}, false)
	if thread != polls+p.Host.Thread {
		t.Errorf("a message takes %v to a program that polls, and %v to a thread", polls, thread)
	}
	if computes := trip(grim.EndpointOptions{}, false); computes > 0 {
		t.Errorf("a message to a program that computes has been handled after %v", computes)
	}
}
