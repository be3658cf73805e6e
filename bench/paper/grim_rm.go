package paper

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// grimMemory is a pair of hosts, with memory to be written at the second.
type grimMemory struct {
	*grimPair
	there *grim.Region
}

// grimMemory returns such a pair with so many bytes of a kind.
func (s *Setting) grimMemory(image grim.Image, kind grim.Kind, size int, h grim.Handler, changes ...change) (*grimMemory, error) {
	p, err := s.grimProfile(changes...)
	if err != nil {
		return nil, err
	}
	if h == nil {
		h = func(*grim.Endpoint, *grim.Message) {}
	}
	pair, err := newGRIMPair(p, s.Seed, image, 0, grim.EndpointOptions{}, h)
	if err != nil {
		return nil, err
	}
	there, err := pair.ends[1].RegisterMemory(make([]byte, size), kind)
	return &grimMemory{pair, there}, err
}

// at returns a place of the memory.
func (m *grimMemory) at(offset int) grim.Remote {
	return grim.Remote{Key: m.there.Key(), Offset: uint64(offset)}
}

// write writes n bytes of a value from an offset on.
func (m *grimMemory) write(offset, n int, value byte, o grim.RMOptions) error {
	return m.ends[0].Write(m.ends[1].ID(), m.at(offset), slices.Repeat([]byte{value}, n), o)
}

// until returns how long it takes until something is so, in µs. What begins the wait is done first.
func (m *grimMemory) until(is func() bool, begin ...error) (float64, error) {
	if err := errors.Join(begin...); err != nil {
		return 0, err
	}
	since := m.Now()
	for !is() {
		if m.Now() > since+vtime.Second {
			return 0, errors.New("nothing has come within a second")
		}
		m.RunUntil(m.Now() + 10*vtime.Nanosecond)
	}
	took := m.Now() - since
	m.RunUntil(m.Now() + vtime.Millisecond) // all is quiet again
	return micros(took), nil
}

// has tells whether the byte before an offset has a value.
func (m *grimMemory) has(end int, value byte) func() bool {
	return func() bool { return m.there.Bytes()[end-1] == value }
}

// latencies are how long writes of a size take to be in the memory of the target, in µs.
type latencies struct{ physical, virtual, missed float64 }

// phases is how many times within a scan of the channels writes are begun at: how long they take depends on where the scan is.
const phases = 8

// grimWrites returns the mean latencies of writes of a size into memory of a kind, and how many misses those that miss have made.
func (s *Setting) grimWrites(kind grim.Kind, size int) (l latencies, misses uint64, err error) {
	p, err := s.grimProfile()
	if err != nil {
		return l, 0, err
	}
	round := p.CPU.Instruction.Time(p.Steps.Scan + p.Steps.Channel + p.Code.Poll + p.Code.Dispatch) // of one channel
	for i := range phases {
		each, n, err := s.grimWrite(kind, size, vtime.Time(i)*round/phases)
		if err != nil {
			return l, 0, err
		}
		l.physical += each.physical / phases
		l.virtual += each.virtual / phases
		l.missed += each.missed / phases
		misses += n
	}
	return l, misses, nil
}

// grimWrite returns the latencies of writes that begin some time after the NIC has become idle.
func (s *Setting) grimWrite(kind grim.Kind, size int, after vtime.Time) (l latencies, misses uint64, err error) {
	m, err := s.grimMemory(grim.Image{}, kind, size, nil, count("grim.static", 0), count("grim.channels", 1))
	if err != nil {
		return l, 0, err
	}
	physical, err := m.there.Physical(0)
	if err != nil {
		return l, 0, err
	}
	target := m.ends[1].ID()
	begin := vtime.Time(0)
	write := func(value byte, f func(data []byte) error) (float64, error) {
		begin += 10 * vtime.Millisecond
		m.RunUntil(begin + after)
		return m.until(m.has(size, value), f(slices.Repeat([]byte{value}, size)))
	}
	virtually := func(data []byte) error { return m.ends[0].Write(target, m.at(0), data, grim.RMOptions{}) }
	if l.missed, err = write(1, virtually); err != nil {
		return l, 0, err
	}
	misses = m.Hosts[1].Counts().Misses
	if l.virtual, err = write(2, virtually); err != nil {
		return l, 0, err
	}
	if kind == grim.Contiguous { // pinned pages are not adjacent
		if l.physical, err = write(3, func(data []byte) error { return m.ends[0].WritePhysical(target, physical, data, grim.RMOptions{}) }); err != nil {
			return l, 0, err
		}
	}
	if after := m.Hosts[1].Counts().Misses; after != misses {
		err = fmt.Errorf("%d misses where there should be none", after-misses)
	}
	return l, misses, err
}

// grimRemoteMemory measures remote memory: section 4.7.
func grimRemoteMemory(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	for _, part := range []func(*Outcome) error{s.rmWrites, s.rmNotification, s.rmStatic, s.rmRuntime, s.rmOrder, s.rmRefusals} {
		if err := part(o); err != nil {
			return nil, err
		}
	}
	o.note("The source publishes no time of remote memory. All steps and costs that these figures rest on are assumed: steps.translate, host.interrupt and others.")
	return o, nil
}

// rmWrites compares RM-P, RM-V and misses, and both kinds of memory, by size.
func (s *Setting) rmWrites(o *Outcome) error {
	p, err := s.grimProfile()
	if err != nil {
		return err
	}
	page := int(p.GRIM.Page)
	sizes := []int{4, 256, page, 4 * page, 15 * page}
	if s.Full {
		sizes = []int{4, 64, 256, 1024, page, 2 * page, 4 * page, 8 * page, 15 * page}
	}
	names := []string{"RM-P", "RM-V, contiguous", "RM-V, pinned", "RM-V, contiguous, miss"}
	series := make([]plot.Series, len(names))
	add := func(i, x int, y float64) {
		series[i].Name = names[i]
		series[i].Points = append(series[i].Points, plot.Point{X: float64(x), Y: y})
	}
	costs, contiguous, once := true, true, true
	ahead := math.Inf(1) // by how much RM-P is faster
	interrupt := micros(p.Host.Interrupt + p.Host.Translate)
	var small, large [2]latencies
	for i, size := range sizes {
		var l [2]latencies
		for kind := range l {
			var misses uint64
			if l[kind], misses, err = s.grimWrites([]grim.Kind{grim.Contiguous, grim.Pinned}[kind], size); err != nil {
				return err
			}
			once = once && misses == phases
			costs = costs && l[kind].missed > l[kind].virtual+interrupt && l[kind].missed < l[kind].virtual+3*interrupt
		}
		add(0, size, l[0].physical)
		add(1, size, l[0].virtual)
		add(2, size, l[1].virtual)
		add(3, size, l[0].missed)
		ahead = min(ahead, l[0].virtual-l[0].physical)
		contiguous = contiguous && (size <= page || l[0].virtual < l[1].virtual)
		if i == 0 {
			small = l
		}
		large = l
	}
	most := sizes[len(sizes)-1]
	o.number("grim-rm-p", "4 bytes by RM-P, from the call until they are in the memory of the target", small[0].physical, "us")
	o.number("grim-rm-v", "the same by RM-V", small[0].virtual, "us")
	o.number("grim-rm-miss", "by RM-V, with a miss", small[0].missed, "us")
	o.number("grim-rm-contiguous", fmt.Sprintf("%d bytes by RM-V into contiguous memory", most), large[0].virtual, "us")
	o.number("grim-rm-pinned", "into pinned pages", large[1].virtual, "us")
	o.claim("RM-P is faster than RM-V, of all sizes", "GRIM, 4.7", ahead > 0, "4 B in %s µs against %s; by %s µs at least", figures(small[0].physical), figures(small[0].virtual), figures(ahead))
	o.claim("a miss interrupts the host once, and costs that", "GRIM, 4.7", costs && once, "%s µs against %s; the interrupt has %s", figures(small[0].missed), figures(small[0].virtual), figures(interrupt))
	o.claim("contiguous memory takes one DMA; pinned pages take one each, and longer", "GRIM, 4.7", contiguous, "%d B in %s µs against %s", most, figures(large[0].virtual), figures(large[1].virtual))
	o.Figures = append(o.Figures, Figure{"writes", plot.Figure{
		Title: "GRIM: writes of remote memory", Note: s.reproduce("grim-rm"),
		X: plot.Axis{Label: "size, bytes", Scale: plot.Log2}, Y: plot.Axis{Label: "time until they are there, µs"}, Series: series,
	}})
	return nil
}

// rmNotification compares a notification with a second operation that sets a flag.
func (s *Setting) rmNotification(o *Outcome) error {
	const size = 64
	m, err := s.grimMemory(grim.Image{}, grim.Contiguous, size+4, nil)
	if err != nil {
		return err
	}
	notified := grim.RMOptions{Notify: grim.Notification{Where: grim.AtTarget, At: m.at(size), Value: 0x01010101}}
	before := m.Hosts[0].Counts().Sent
	one, err := m.until(m.has(size+4, 1), m.write(0, size, 1, notified))
	if err != nil {
		return err
	}
	messages := m.Hosts[0].Counts().Sent - before
	two, err := m.until(m.has(size+4, 2), m.write(0, size, 2, grim.RMOptions{}), m.write(size, 4, 2, grim.RMOptions{}))
	if err != nil {
		return err
	}
	o.claim("a notification replaces a second operation that only sets a flag, and comes earlier", "GRIM, 4.7", one < two && messages == 1,
		"the flag of %d B is there after %s µs and %d message, by a second operation after %s", size, figures(one), messages, figures(two))
	return nil
}

// rmStatic has more contiguous blocks used in turn than there are entries for.
func (s *Setting) rmStatic(o *Outcome) error {
	const static, rounds, size = 4, 5, 256
	var points [2][]plot.Point
	least, thrash := true, true
	for i, runtime := range []int{8, 1} {
		for blocks := 1; blocks <= 8; blocks++ {
			m, err := s.grimMemory(grim.Image{}, grim.Contiguous, size, nil, count("grim.static", static), count("grim.runtime", runtime))
			if err != nil {
				return err
			}
			all := []*grim.Region{m.there}
			for len(all) < blocks {
				r, err := m.ends[1].RegisterMemory(make([]byte, size), grim.Contiguous)
				if err != nil {
					return err
				}
				all = append(all, r)
			}
			for round := range rounds {
				for _, m.there = range all {
					if _, err := m.until(m.has(size, byte(round+1)), m.write(0, size, byte(round+1), grim.RMOptions{})); err != nil {
						return err
					}
				}
			}
			misses := int(m.Hosts[1].Counts().Misses)
			beyond := max(0, blocks-static)
			if i == 0 || beyond < 2 {
				least = least && misses == beyond
			} else {
				thrash = thrash && misses == beyond*rounds
			}
			points[i] = append(points[i], plot.Point{X: float64(blocks), Y: float64(misses)})
		}
	}
	o.claim("a contiguous block with a static entry never misses; when these are full a block has run-time entries, and misses once", "GRIM, 4.7", least, "%d static entries: %s misses of 8 blocks", static, figures(points[0][7].Y))
	o.claim("without enough of them it misses each time", "", thrash, "1 run-time entry: %s misses of 8 blocks in %d rounds", figures(points[1][7].Y), rounds)
	o.Figures = append(o.Figures, Figure{"static", plot.Figure{
		Title: fmt.Sprintf("GRIM: contiguous blocks written in turn, %d times each, with %d static entries", rounds, static), Note: s.reproduce("grim-rm"),
		X: plot.Axis{Label: "blocks"}, Y: plot.Axis{Label: "misses"},
		Series: []plot.Series{{Name: "8 run-time entries", Points: points[0]}, {Name: "1 run-time entry", Points: points[1]}},
	}})
	return nil
}

// rmRuntime walks through pinned memory again and again, with the entries that the SRAM has room for and with more.
func (s *Setting) rmRuntime(o *Outcome) error {
	const rounds, many = 3, 1 << 17
	p, err := s.grimProfile()
	if err != nil {
		return err
	}
	each := int(p.GRIM.Page) * p.GRIM.Pages
	_, refused := s.grimMemory(grim.Image{}, grim.Pinned, 1, nil, count("grim.runtime", many))
	o.claim("a translation cache that the SRAM has no room for is refused", "", refused != nil, "%v", refused)
	var points [2][]plot.Point
	for _, entries := range []int{p.GRIM.Runtime / 4, p.GRIM.Runtime, 2 * p.GRIM.Runtime, 4 * p.GRIM.Runtime} {
		for i, image := range []grim.Image{{}, {UnlimitedSRAM: true}} {
			var changes []change
			if image.UnlimitedSRAM {
				changes = append(changes, count("grim.runtime", many))
			}
			m, err := s.grimMemory(image, grim.Pinned, entries*each, nil, changes...)
			if err != nil {
				return err
			}
			for round := range rounds {
				for k := range entries {
					if _, err := m.until(m.has(k*each+4, byte(round+1)), m.write(k*each, 4, byte(round+1), grim.RMOptions{})); err != nil {
						return err
					}
				}
			}
			points[i] = append(points[i], plot.Point{X: float64(entries * each >> 10), Y: float64(m.Hosts[1].Counts().Misses) / float64(rounds*entries)})
		}
	}
	last := len(points[0]) - 1
	o.claim("pinned memory beyond the run-time entries misses each time that one walks through it, and memory within them once", "",
		points[0][1].Y < 0.5 && points[0][last].Y == 1, "misses a write: %s with %s KB, %s with %s KB", figures(points[0][1].Y), figures(points[0][1].X), figures(points[0][last].Y), figures(points[0][last].X))
	o.Figures = append(o.Figures, Figure{"runtime", plot.Figure{
		Title: fmt.Sprintf("GRIM: pinned memory walked through %d times", rounds), Note: s.reproduce("grim-rm"),
		X: plot.Axis{Label: "KB", Scale: plot.Log2}, Y: plot.Axis{Label: "misses a write"},
		Series: []plot.Series{
			{Name: fmt.Sprintf("%d run-time entries", p.GRIM.Runtime), Points: points[0]},
			{Name: fmt.Sprintf("%d entries, unlimited-sram", many), Points: points[1]},
		},
	}})
	return nil
}

// rmOrder is the table of the order of messages and remote memory.
func (s *Setting) rmOrder(o *Outcome) error {
	const n, rounds = 64, 10
	var m *grimMemory
	var handled []uint32
	behind := 0 // messages whose handlers did not find what had been written before
	m, err := s.grimMemory(grim.Image{}, grim.Contiguous, 2*n, func(_ *grim.Endpoint, got *grim.Message) {
		handled = append(handled, got.Args[0])
		if v := got.Args[0]; v > 0 && m.there.Bytes()[n-1] < byte(v) {
			behind++
		}
	})
	if err != nil {
		return err
	}
	block := m.there
	cold := func() error { // memory that is not in the cache
		m.there, err = m.ends[1].RegisterMemory(make([]byte, n), grim.Pinned)
		return err
	}
	// RM, RM: the first misses, the second does not.
	overtaken := 0
	for v := byte(1); v <= rounds; v++ {
		if err := errors.Join(cold(), m.write(0, n, v, grim.RMOptions{})); err != nil {
			return err
		}
		first := m.has(n, v)
		m.there = block
		second := m.has(n, v)
		if _, err := m.until(func() bool {
			if second() && !first() {
				overtaken++
				return true
			}
			return second()
		}, m.write(0, n, v, grim.RMOptions{})); err != nil {
			return err
		}
	}
	o.claim("order is kept: remote memory before remote memory", "GRIM, 4.7", overtaken == 0, "%d of %d writes that miss were overtaken by one that does not", overtaken, rounds)
	// RM, AM: the first misses.
	for v := byte(1); v <= rounds; v++ {
		if err := errors.Join(cold(), m.write(0, n, v, grim.RMOptions{})); err != nil {
			return err
		}
		if _, err := m.until(func() bool { return len(handled) == int(v) }, m.send(0, int(v), nil)); err != nil {
			return err
		}
	}
	o.claim("remote memory before a message", "GRIM, 4.7", behind == 0, "%d of %d handlers have not found the write before them", behind, rounds)
	// AM, RM: the program does not poll for a while.
	m.there, handled = block, nil
	m.ends[1].Attend(false)
	if _, err := m.until(m.has(n, 99), m.send(0, 0, nil), m.send(0, 0, nil), m.write(0, n, 99, grim.RMOptions{})); err != nil {
		return err
	}
	before := len(handled)
	o.claim("not kept: remote memory behind a message may be executed before its handler", "GRIM, 4.7", before == 0, "%d handlers called when the write behind two messages is there", before)
	m.ends[1].Attend(true)
	if _, err := m.until(func() bool { return len(handled) == 2 }); err != nil {
		return err
	}
	// AM, AM
	handled = nil
	for i := range rounds {
		if err := m.send(0, -i, nil); err != nil {
			return err
		}
	}
	_, err = m.until(func() bool { return len(handled) == rounds })
	ordered := slices.IsSortedFunc(handled, func(a, b uint32) int { return compare(float64(int32(b)), float64(int32(a))) })
	o.claim("kept: a message before a message", "GRIM, 4.7", ordered, "%d messages", len(handled))
	return err
}

// rmRefusals reads memory, and names some that is not registered.
func (s *Setting) rmRefusals(o *Outcome) error {
	const size = 1024
	m, err := s.grimMemory(grim.Image{}, grim.Contiguous, size, nil)
	if err != nil {
		return err
	}
	copy(m.there.Bytes(), slices.Repeat([]byte{7}, size))
	here, err := m.ends[0].RegisterMemory(make([]byte, size+4), grim.Contiguous)
	if err != nil {
		return err
	}
	flag := here.Bytes()[size:]
	copy(flag, "busy")
	took, err := m.until(func() bool { return string(flag) == "\x00\x00\x00\x00" }, m.ends[0].Read(m.ends[1].ID(), m.at(0), here, 0, size,
		grim.RMOptions{Notify: grim.Notification{Where: grim.AtInitiator, At: grim.Remote{Key: here.Key(), Offset: size}}}))
	if err != nil {
		return err
	}
	o.claim("a read notifies by 0 at the initiator, when the bytes are there", "GRIM, 4.7", here.Bytes()[0] == 7 && here.Bytes()[size-1] == 7, "%d B in %s µs", size, figures(took))
	o.number("grim-rm-rv", fmt.Sprintf("%d bytes by RM-RV", size), took, "us")
	var failed error
	if _, err := m.until(func() bool { return failed != nil }, m.write(size-10, 20, 1, grim.RMOptions{Done: func(err error) { failed = err }})); err != nil {
		return err
	}
	n := m.Hosts[1].Counts().Unregistered
	o.claim("a write that goes beyond registered memory is refused, counted, and writes nothing", "", errors.Is(failed, grim.ErrUnregistered) && n == 1 && m.there.Bytes()[size-1] == 7,
		"%d counted; the initiator is told: %v", n, failed)
	return nil
}
