package grim_test

import (
	"bytes"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestLiveDevice has two programs and a device share a live NIC. One program takes its messages as they come, the other one for ten of those, and the device is busy with its first one for an hour. With any-to-any
// sequencing each gets its messages at its own rate; with sequencing per NI the two hold up the first. A device that is not so slow takes every message as it was sent, in order, and answers them, beside
// programs that get all of theirs.
func TestLiveDevice(t *testing.T) {
	t.Parallel()
	const n, ratio = 60, 10
	for _, perNI := range []bool{false, true} {
		for _, stuck := range []bool{true, false} {
			p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.Receive, p.GRIM.Queue = 3, 512, 8192 })
			var fast, slow, answers, taken int
			var all [][]*grim.Endpoint
			l := newLive(t, p, grim.Image{PerNI: perNI}, 2, 2, link.Errors{}, func(e *grim.Endpoint, m *grim.Message) {
				switch e.ID() { // three channels on a host
				case 3:
					if fast++; fast%ratio == 0 && stuck {
						all[1][1].Poll(1)
					}
				case 4:
					slow++
				default:
					answers++
				}
			})
			all = l.all
			var device, from *grim.Endpoint
			var err error
			l.in(1, func() {
				all[1][1].Attend(!stuck)
				device, err = l.hosts[1].OpenDevice(2, 0, func(e *grim.Endpoint, m *grim.Message) vtime.Time {
					if int(m.Args[0]) != taken || !bytes.Equal(m.Payload, pattern(taken)) {
						t.Errorf("message %d with %d B, %d was due", m.Args[0], len(m.Payload), taken)
					}
					taken++
					if err := e.Send(all[0][0].ID(), l.id, [4]uint32{}, nil); err != nil {
						t.Error(err)
					}
					if stuck {
						return 3600 * vtime.Second
					}
					return 20 * vtime.Microsecond
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			l.in(0, func() {
				if from, err = l.hosts[0].Open(2, grim.EndpointOptions{}); err != nil {
					t.Fatal(err)
				}
				for i := range uint32(n) {
					send(t, from, device, l.id, i, pattern(int(i)))
					send(t, all[0][0], all[1][0], l.id, i, pattern(int(i)))
					send(t, all[0][1], all[1][1], l.id, i, pattern(int(i)))
				}
			})
			refused := func() bool { return l.hosts[0].Counts().Rollbacks > 200 }
			switch {
			case !stuck:
				l.until("all messages", func() bool { return fast == n && slow == n && taken == n && answers == n })
				l.rest("a device")
			case perNI:
				l.until("messages that are refused", refused)
				if fast == n {
					t.Error("sequencing per NI: a slow endpoint, and a device that does not take its messages, hold up nobody")
				}
			default:
				l.until("the messages of the fast endpoint", func() bool { return fast == n && refused() })
				if slow != n/ratio || taken != 1 {
					t.Errorf("the slow endpoint has taken %d messages, the device %d", slow, taken)
				}
				l.in(1, func() { all[1][1].Attend(true) })
				l.until("the messages of the slow endpoint", func() bool { return slow == n })
			}
		}
	}
}
