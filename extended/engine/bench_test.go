package engine_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
)

// end is a member whose messages go nowhere until they are delivered.
type end struct {
	engine.Engine
	part engine.Part // that it has sent
	data [8]byte
	over int
	peer *end
}

func (e *end) Send(to int, p *engine.Part) bool {
	e.part = *p
	e.part.Data = e.data[:copy(e.data[:], p.Data)]
	return true
}
func (e *end) Engage()                  {}
func (e *end) Fail(from int, err error) { panic(err) }
func (e *end) Shared(member int) []byte { return nil }
func (e *end) ReturnCredit(to int, window, bytes uint32) {
	if err := e.peer.Credit(1-to, window, bytes); err != nil {
		panic(err)
	}
}
func (e *end) Over() { e.over++ }

// deliver hands what e has sent to its peer.
func (e *end) deliver() {
	back, err := e.peer.Arrive(&e.part)
	if err == nil && back > 0 {
		err = e.Credit(e.peer.Self, e.part.Window, back)
	}
	if err != nil {
		panic(err)
	}
}

// BenchmarkAllReduce is what two members do besides sending, for one call: of 8 bytes, both in the call when the
// messages come, or one message before its receiver has begun.
func BenchmarkAllReduce(b *testing.B) {
	call := coll.Call{Op: coll.AllReduce, Bytes: 8, Elem: 8, Commutes: true}
	sum := func(dst, src []byte) { dst[0] += src[0] }
	for _, ahead := range []bool{false, true} {
		b.Run(map[bool]string{false: "together", true: "ahead"}[ahead], func(b *testing.B) {
			var m [2]end
			m[0].peer, m[1].peer = &m[1], &m[0]
			for i := range m {
				m[i].Init(engine.Config{Members: 2, Self: i, Part: 512, Team: title("team"), Describe: nil}, &m[i])
			}
			var dst, src [2][8]byte
			begin := func(i int) {
				p, err := m[i].Plan(call, nil)
				if err != nil {
					b.Fatal(err)
				}
				m[i].Begin(p, &m[i], dst[i][:], src[i][:], sum, engine.Signature{})
			}
			b.ReportAllocs()
			calls := 0
			for b.Loop() {
				begin(0)
				if ahead {
					m[0].deliver()
					begin(1)
				} else {
					begin(1)
					m[0].deliver()
					m[1].Advance()
				}
				m[1].deliver()
				m[0].Advance()
				calls++
			}
			if m[0].over != calls || m[1].over != calls {
				b.Fatalf("%d and %d of %d calls are over", m[0].over, m[1].over, calls)
			}
		})
	}
}
