package amii_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/amii"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const us, ms = vtime.Microsecond, vtime.Millisecond

// profile returns the machine with constants changed: name, value and unit of each.
func profile(t testing.TB, changes ...string) *amii.Profile {
	t.Helper()
	f, err := amii.Library().Load("now-lanai4")
	for ; err == nil && len(changes) > 0; changes = changes[3:] {
		f, err = f.With(changes[0], changes[1], changes[2])
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := amii.NewProfile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A world is hosts with programs that count what has come.
type world struct {
	t testing.TB
	k *vtime.Kernel
	*amii.Cluster
	all  []*amii.Endpoint
	came map[string]int
	back map[string]int
	lost []am2.Reason // why messages returned

	handler amfamily.Handler // of requests, instead of the one of image
}

// key names a message: from and to whom, and its number.
func key(from, to int, number uint32) string { return fmt.Sprint(from, ">", to, "#", number) }

const tag = 7

// image counts requests, whose data must be of one byte, and replies to those whose second argument is 0.
func (w *world) image() amfamily.Image {
	return amfamily.Image{
		func(n amfamily.Node, m *amfamily.Message) {
			if w.handler != nil {
				w.handler(n, m)
				return
			}
			w.check(n, m)
			w.came[key(m.From, n.ID(), m.Args[0])]++
			if m.Args[1] == 0 {
				if err := n.Reply(m, 1, m.Args, m.Data); err != nil {
					w.t.Error(err)
				}
			}
		},
		func(n amfamily.Node, m *amfamily.Message) {
			w.check(n, m)
			w.back[key(n.ID(), m.From, m.Args[0])]++
		},
	}
}

func (w *world) check(n amfamily.Node, m *amfamily.Message) {
	if len(m.Data) != int(m.Args[2]) || len(bytes.Trim(m.Data, string([]byte{byte(m.Args[0]) + 1}))) > 0 {
		w.t.Errorf("node %d has a wrong message %d of %d bytes from node %d", n.ID(), m.Args[0], len(m.Data), m.From)
	}
}

// data returns that of a message.
func data(number, size int) []byte { return bytes.Repeat([]byte{byte(number) + 1}, size) }

func args(number, size int) [amfamily.Args]uint32 {
	return [amfamily.Args]uint32{uint32(number), 0, uint32(size)}
}

func newWorld(t testing.TB) *world {
	return &world{t: t, k: vtime.New(1), came: map[string]int{}, back: map[string]int{}}
}

// star adds hosts at a switch, and a program on them with segments of 1 MB.
func (w *world) star(p *amii.Profile, n int) {
	w.t.Helper()
	var err error
	if w.Cluster, err = amii.NewStar(&w.k.Loop, p, n); err != nil {
		w.t.Fatal(err)
	}
	w.program("a")
}

func (w *world) program(name string) {
	w.t.Helper()
	all, err := w.Program(name, tag, w.image(), w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.all = append(w.all, all...)
}

func (w *world) options(_ int, o *amii.Options) {
	o.Segment = make([]byte, 1<<20)
	o.Returned = func(r *amii.Returned) { w.lost = append(w.lost, r.Why) }
	o.Lost = func(_ int, why am2.Reason) { w.lost = append(w.lost, why) }
}

// run runs the endpoints' processes.
func (w *world) run(body func(*amii.Endpoint) error) {
	w.t.Helper()
	if err := amfamily.Run(w.k, w.all, body); err != nil {
		w.t.Fatal(err)
	}
}

// exchange has an endpoint send messages of sizes to all others, and wait for the replies.
func exchange(e *amii.Endpoint, sizes ...int) error {
	for i, size := range sizes {
		for d := 1; d < e.Nodes(); d++ {
			if err := e.Request((e.ID()+d)%e.Nodes(), 0, args(i, size), data(i, size)); err != nil {
				return err
			}
		}
	}
	return replies(e, len(sizes)*(e.Nodes()-1))
}

func replies(e *amii.Endpoint, n int) error {
	return amfamily.Wait(e, "all replies", func() bool { return e.Counts().Replies == uint64(n) })
}

// once wants so many messages delivered and replied to, each once, and nothing left in the NICs.
func (w *world) once(n int) {
	w.t.Helper()
	for what, all := range map[string]map[string]int{"delivered": w.came, "replied to": w.back} {
		if len(all) != n {
			w.t.Errorf("%d %s, want %d", len(all), what, n)
		}
		for m, times := range all {
			if times != 1 {
				w.t.Errorf("%v %s %d times", m, what, times)
			}
		}
	}
	if len(w.lost) > 0 {
		w.t.Errorf("messages came back: %v", w.lost)
	}
	for _, e := range w.all {
		if c := e.Counts(); c.Malformed > 0 {
			w.t.Errorf("node %d: %+v", e.ID(), c)
		}
	}
}

// sum adds the counts of all hosts.
func (w *world) sum() (s amii.Counts) {
	for _, h := range w.Hosts {
		c := h.Counts()
		s.Sent += c.Sent
		s.Received += c.Received
		s.NoStaging += c.NoStaging
		s.Absent += c.Absent
		s.Faults += c.Faults
		s.Interrupts += c.Interrupts
		s.PagedIn += c.PagedIn
		s.PagedOut += c.PagedOut
		s.Corrupt += c.Corrupt
		s.Foreign += c.Foreign
		s.Malformed += c.Malformed
	}
	return s
}
