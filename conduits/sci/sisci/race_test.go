package sisci

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Messages between nodes that are goroutines: each sender has its own segment at each
// receiver, with the flag and the credit stored behind the data. Under the race detector
// the segments are Go memory, and it checks the order that the flags make.
func TestMessagesBetweenNodes(t *testing.T) {
	const nodes, total, words = 3, 2000, 8
	nw := newNetwork(t, nodes, Layout{Memory: 2 * nodes * page, Segments: nodes, Connections: 2 * nodes, Interrupts: 1}, together, nil)
	const credits = 512 // offset of the acknowledgements for the other direction
	var in [nodes][nodes][]byte
	for n, d := range nw.devs {
		for from := range nodes {
			_, in[n][from] = export(t, d, SegmentID(from), page, nil)
		}
	}
	var wg sync.WaitGroup
	for n, d := range nw.devs {
		var out [nodes]*RemoteMap
		for to := range nodes {
			_, out[to] = attach(t, d, NodeID(to), SegmentID(n))
		}
		wg.Go(func() {
			var sent, got [nodes]uint32
			for left := 2 * nodes * total; left > 0; {
				busy := false
				for p := range nodes {
					flag := (*uint32)(unsafe.Pointer(&in[n][p][0]))
					if v := shm.Load32(flag); v != got[p] { // a message from p
						for i := 1; i < words; i++ {
							if w := binary.LittleEndian.Uint32(in[n][p][4*i:]); w != v*uint32(i) {
								t.Errorf("message %d of node %d: word %d is %d", v, p, i, w)
							}
						}
						got[p], busy = v, true
						left--
						out[p].Store32(credits, v)
					}
					credit := (*uint32)(unsafe.Pointer(&in[n][p][credits]))
					if sent[p] < total && shm.Load32(credit) == sent[p] { // room for one to p
						sent[p]++
						w := out[p].Window(4, 4*(words-1))
						for i := 1; i < words; i++ {
							binary.LittleEndian.PutUint32(w[4*(i-1):], sent[p]*uint32(i))
						}
						out[p].Push(4, len(w))
						if n == 0 {
							out[p].Store32(0, sent[p])
							shm.Fence()
						} else {
							out[p].Store32(0, sent[p])
						}
						left--
						busy = true
					}
				}
				if !busy {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
}

// The owner makes its segment come and go while others connect: nobody who is connected
// ever sees its memory reused.
func TestConnectAgainstRemove(t *testing.T) {
	const importers, generations = 2, 200
	nw := newNetwork(t, 1+importers, small, together, nil)
	owner := nw.devs[0]
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var seen atomic.Int32 // connections
	for n := range importers {
		d := nw.devs[1+n]
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched() // with one processor the owner has to come to its turn
				}
				r, err := d.Connect(0, 7, 0, nil)
				switch {
				case errors.Is(err, ErrNoSuchSegment), errors.Is(err, ErrConnectionRefused), errors.Is(err, ErrNoSpace):
					continue
				case err != nil:
					t.Error(err)
					return
				}
				m, err := r.Map(0, r.Size(), ReadOnly)
				if err != nil {
					t.Error(err)
					return
				}
				b := m.Window(0, m.Size())
				if b[0] == 0 || b[0] != b[len(b)-1] {
					t.Errorf("connected to memory that is not the segment's: %d, %d", b[0], b[len(b)-1])
				}
				seen.Add(1)
				if err := errors.Join(m.Unmap(), r.Disconnect()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	scrap := must(owner.CreateSegment(0, page, Private, nil)) // moves the segment about
	for g := 1; g <= generations || seen.Load() == 0; g++ {
		seg := must(owner.CreateSegment(7, (1+g%2)*page, 0, nil))
		ok(t, seg.Prepare(0))
		mem := seg.part(0, seg.size)
		fill(mem, byte(1+g%200))
		ok(t, seg.SetAvailable())
		for range g % 50 {
			runtime.Gosched()
		}
		ok(t, seg.SetUnavailable(0))
		for {
			err := seg.Remove()
			if err == nil {
				break
			}
			is(t, err, ErrBusy)
			runtime.Gosched()
		}
		fill(mem, 0)
		if g%3 == 0 {
			ok(t, scrap.Remove())
			scrap = must(owner.CreateSegment(0, page, Private, nil))
		}
	}
	close(stop)
	wg.Wait()
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}
