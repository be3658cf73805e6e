package fabric_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// hostile has cables from a switch to itself, several between two, and one between two hosts.
const hostile = `switch s0 8 SAN
switch s1 4 SAN 4 LAN
switch s2 3 LAN
link s0:0 s0:1 3 m
link s0:2 s1:2
link s0:3 s1:3 1 m
link s1:4 s2:1 7.5 m
link s2:2 s0:4
host h0 s0:7
host h1 s1:7 2 m
host h2 s2:0
host h3
host h4
link h3 h4
`

// FuzzTraffic has hosts send whatever the input says, take it in or on as it says, and links and switches fail. In the end
// nothing is left in the fabric, as there is a time limit, and every port is idle.
func FuzzTraffic(f *testing.F) {
	f.Add([]byte{0, 20, 3, 0x82, 0x84, 1, 1, 200, 2, 0xbd, 0x80, 0, 8, 1, 2, 3})
	f.Add([]byte{0, 90, 5, 0x80, 0xba, 0x81, 0x81, 0x80, 0, 250, 6, 0xb9, 0x81, 0x3f, 5, 9, 9, 7, 7, 7, 7})
	f.Fuzz(func(t *testing.T, in []byte) {
		topo, err := fabric.Parse("hostile", hostile)
		if err != nil {
			t.Fatal(err)
		}
		if len(in) > 400 {
			in = in[:400]
		}
		next := func() int {
			if len(in) == 0 {
				return 0
			}
			b := in[0]
			in = in[1:]
			return int(b)
		}
		c := constants(t)
		c.Limit.Time, c.Limit.Reset = 20*vtime.Microsecond, next()%2 == 1
		b := newBed(t, topo, c)
		modes := next()
		for h, n := range b.nics {
			mode := modes >> h & 7
			n.head = func(a *fabric.Arrival) {
				switch {
				case mode == 1:
					a.Discard()
				case mode == 2: // too late, perhaps
				default:
					a.Accept(vtime.Time(mode) * 3 * ns)
					a.Watch(min(a.Len(), 1+mode))
				}
			}
			n.in = func(a *fabric.Arrival, i int) {
				switch {
				case mode == 3 && n.port.Idle() && a.Len() > i:
					n.port.Forward(a, i)
				case mode == 4:
					a.Pause()
				case mode == 5:
					a.Discard()
				}
			}
		}
		at := vtime.Time(0)
		for len(in) > 0 {
			op, arg := next(), next()
			at += vtime.Time(arg) * 4 * ns
			h := op % len(b.nics)
			switch op / 16 % 8 {
			case 0:
				b.f.Plan(fabric.SwitchEnd(arg%2, 2), uint64(op%4), fabric.Fault{Harm: fabric.Harm(op % 3), Byte: 1 + arg%64, Mask: byte(1 + op)})
			case 1:
				b.at(at, func() { b.f.FailLink(fabric.SwitchEnd(arg%2, 2+op%2)) })
			case 2:
				b.at(at, func() { b.f.RepairLink(fabric.SwitchEnd(arg%2, 2+op%2)) })
			case 3:
				b.at(at, func() { b.f.FailSwitch(arg % 3) })
			case 4:
				b.at(at, func() { b.f.RepairSwitch(arg % 3) })
			default:
				var p fabric.Packet
				for n := op % 11; n > 0; n-- {
					p.Head = append(p.Head, byte(next()))
				}
				p.Body = make([]byte, 3*arg)
				b.at(at, func() {
					if b.nics[h].port.Idle() {
						b.nics[h].port.Inject(p)
					}
				})
				if arg%9 == 0 {
					b.at(at+500*ns, func() {
						if !b.nics[h].port.Idle() {
							b.nics[h].port.Sending().Abort()
						}
					})
				}
			}
		}
		b.run(t)
		if b.f.InFlight() != 0 || len(b.f.Waits()) > 0 {
			t.Errorf("%d packets are left: %+v, %+v", b.f.InFlight(), b.f.Waits(), b.f.Counts())
		}
		for h, n := range b.nics {
			if !n.port.Idle() {
				t.Errorf("the port of host %d is at work for ever", h)
			}
		}
	})
}
