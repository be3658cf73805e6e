package grim_test

import (
	"bytes"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestIncoming has an endpoint stall that gets more messages than it has room for: with an incoming queue the NI keeps some of them, and refuses
// fewer; all come, once and in order. The outgoing queue has half of the room, and each message costs the NI more even if it never waits.
func TestIncoming(t *testing.T) {
	t.Parallel()
	var busy [2]vtime.Time
	var refused, most [2]int
	for i, image := range []grim.Image{{}, {Incoming: true}} {
		const n = 60
		p := profile(t, func(p *grim.Profile) { p.GRIM.Receive, p.GRIM.Queue = 256, 4096 })
		got := 0
		c, all, id := star(t, p, image, 2, 1, grim.EndpointOptions{}, func(e *grim.Endpoint, m *grim.Message) {
			if int(m.Args[0]) != got || !bytes.Equal(m.Payload, pattern(got%50)) {
				t.Errorf("message %d, %d was due", m.Args[0], got)
			}
			got++
		})
		from, to := all[0][0], all[1][0]
		before := c.Hosts[1].NIC().CPU.Counts().Busy
		send(t, from, to, id, 0, nil)
		c.RunUntil(c.Now() + vtime.Millisecond)
		busy[i] = c.Hosts[1].NIC().CPU.Counts().Busy - before
		to.Attend(false)
		for k := 1; k < n; k++ {
			send(t, from, to, id, uint32(k), pattern(k%50))
		}
		c.RunUntil(c.Now() + 200*vtime.Microsecond)
		kept := c.Hosts[1].Counts().Incoming
		to.Attend(true)
		c.RunUntil(c.Now() + 20*vtime.Millisecond)
		refused[i], most[i] = int(c.Hosts[1].Counts().Refused), from.MostPayload()
		if got != n || (kept > 0) != image.Incoming {
			t.Errorf("%+v: %d of %d messages, %d were kept", image, got, n, kept)
		}
		for _, h := range c.Hosts {
			if err := h.Leaks(); err != nil {
				t.Errorf("%+v: %v", image, err)
			}
		}
	}
	if refused[1] >= refused[0] || busy[1] <= busy[0] || most[1] >= most[0] {
		t.Errorf("refusals %v, the processor works %v for a message, payloads up to %v B", refused, busy, most)
	}
}
