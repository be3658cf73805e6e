package grim

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Errors of remote memory.
var (
	// ErrUnregistered says that an operation has named memory that its host has not registered. Nothing of the message was written.
	ErrUnregistered = errors.New("grim: the memory is not registered")
	// ErrBusy says that memory cannot be unregistered: operations of its own host use it.
	ErrBusy = errors.New("grim: operations use the memory: wait until they are done")
)

// Kind is how registered memory lies in the host's physical memory.
type Kind uint8

// The kinds.
const (
	// Pinned is memory of a program whose pages a system call pins. No two pages that follow each other are adjacent in physical memory, so
	// that each is moved by a DMA of its own.
	Pinned Kind = iota
	// Contiguous is a block of the pinned-memory unit, adjacent in physical memory: up to grim.block bytes, and grim.blocks of them.
	Contiguous
)

var kinds = [...]string{"pinned", "contiguous"}

// String returns the name of the kind.
func (k Kind) String() string { return kinds[k] }

// Region is registered memory of a host: NIs may write it and read it for endpoints of all hosts.
type Region struct {
	host     *Host
	key      Key
	kind     Kind
	bytes    []byte
	virtual  uint64 // 0: none
	physical uint64
	static   bool // it has a static entry of the translation cache
	gone     bool
	busy     int // operations of this host that use it
}

// Key returns the name of the memory. It never stands for other memory of the host, unless the host has registered some thousands of times since.
func (r *Region) Key() Key { return r.key }

// Kind returns how the memory lies in physical memory.
func (r *Region) Kind() Kind { return r.kind }

// Bytes returns the memory itself.
func (r *Region) Bytes() []byte { return r.bytes }

// Size returns the size of the memory in bytes.
func (r *Region) Size() uint64 { return uint64(len(r.bytes)) }

// Static tells whether the NIC always knows where the memory is: it is contiguous, and there was a static entry for it.
func (r *Region) Static() bool { return r.static }

// Address returns the virtual address of a byte of the memory, of 32 bits. It fails for what did not fit below 4 GB.
func (r *Region) Address(offset uint64) (uint32, error) {
	if r.virtual == 0 {
		return 0, fmt.Errorf("grim: %d B have found no room below 4 GB: name them by their key", r.Size())
	}
	if offset >= r.Size() {
		return 0, fmt.Errorf("grim: offset %d of %d B of registered memory", offset, r.Size())
	}
	return uint32(r.virtual + offset), nil
}

// Physical returns the physical address of a byte of the memory: for RM-P.
func (r *Region) Physical(offset uint64) (uint64, error) {
	if offset >= r.Size() {
		return 0, fmt.Errorf("grim: offset %d of %d B of registered memory", offset, r.Size())
	}
	return r.physicalOf(offset), nil
}

func (r *Region) page() uint64 { return uint64(r.host.profile.GRIM.Page) }

// pages returns how many pages the memory has.
func (r *Region) pages() uint64 { return (r.Size() + r.page() - 1) / r.page() }

// physicalOf returns a physical address. Pinned pages lie in descending order.
func (r *Region) physicalOf(offset uint64) uint64 {
	if r.kind == Contiguous {
		return r.physical + offset
	}
	page := r.page()
	return r.physical + (r.pages()-1-offset/page)*page + offset%page
}

// offsetOf is the inverse of physicalOf, for addresses from r.physical on, up to the end of the last page.
func (r *Region) offsetOf(address uint64) uint64 {
	at := address - r.physical
	if r.kind == Contiguous {
		return at
	}
	page := r.page()
	return (r.pages()-1-at/page)*page + at%page
}

// holds tells whether n bytes from an offset on are in the memory.
func (r *Region) holds(offset uint64, n int) bool {
	return n >= 0 && offset <= r.Size() && uint64(n) <= r.Size()-offset
}

// run returns up to n bytes from an offset on, as many as are adjacent in physical memory. The offset is in the memory.
func (r *Region) run(offset uint64, n int) []byte {
	end := min(r.Size(), offset+uint64(n))
	if r.kind == Pinned {
		end = min(end, (offset/r.page()+1)*r.page())
	}
	return r.bytes[offset:end:end]
}

// runs returns n bytes from an offset on, in parts that are adjacent in physical memory.
func (r *Region) runs(offset uint64, n int) (parts [][]byte) {
	for n > 0 {
		b := r.run(offset, n)
		parts = append(parts, b)
		offset, n = offset+uint64(len(b)), n-len(b)
	}
	return parts
}

// entryBytes returns which part of the memory a run-time entry for an offset is for: all of a contiguous block, or as many pages as an entry has addresses
// for, from a multiple of that on.
func (r *Region) entryBytes(offset uint64) (from, to uint64) {
	if r.kind == Contiguous {
		return 0, r.Size()
	}
	each := r.page() * uint64(r.host.profile.GRIM.Pages)
	from = offset / each * each
	return from, min(r.Size(), from+each)
}

// window is physical memory of a device.
type window struct {
	bytes   []byte
	written func(offset, n int)
}

// memory is the memory of a host that NIs can be told of, as its kernel keeps it.
type memory struct {
	regions     []*Region // by the index that a key has; nil: free
	generations []uint32
	blocks      int   // contiguous ones
	virtual     space // of 32 bits
	physical    space
	kernel      vtime.Resource // one interrupt after the other
}

// A key is an index, which begins at 1, and how often that has been used before.
const indexBits = 20

// space is addresses, of which ranges are taken. A page is left between them.
type space struct{ taken []taken }

type taken struct {
	at, size uint64
	region   *Region
	window   *window
}

// take takes the first free range of a size whose addresses are below a limit.
func (s *space) take(size, page, limit uint64, what taken) (at uint64, ok bool) {
	size = max(1, (size+page-1)/page) * page
	at = page
	i := 0
	for ; i < len(s.taken) && s.taken[i].at-at < size+page; i++ {
		at = s.taken[i].at + s.taken[i].size + page
	}
	if at > limit || size > limit-at {
		return 0, false
	}
	what.at, what.size = at, size
	s.taken = slices.Insert(s.taken, i, what)
	return at, true
}

// find returns the range that an address is in.
func (s *space) find(address uint64) (taken, bool) {
	i := sort.Search(len(s.taken), func(i int) bool { return s.taken[i].at > address }) - 1
	if i < 0 || address-s.taken[i].at >= s.taken[i].size {
		return taken{}, false
	}
	return s.taken[i], true
}

// give gives a range back.
func (s *space) give(r *Region) {
	s.taken = slices.DeleteFunc(s.taken, func(t taken) bool { return t.region == r })
}

// locate returns the memory that a place is in, and where.
func (m *memory) locate(at Remote) (r *Region, offset uint64) {
	if at.Key == 0 {
		t, ok := m.virtual.find(at.Offset)
		if !ok || at.Offset-t.at >= t.region.Size() {
			return nil, 0
		}
		return t.region, at.Offset - t.at
	}
	i := uint32(at.Key)&(1<<indexBits-1) - 1
	if i >= uint32(len(m.regions)) || m.regions[i] == nil || m.regions[i].key != at.Key || at.Offset >= m.regions[i].Size() {
		return nil, 0
	}
	return m.regions[i], at.Offset
}

// RegisterMemory registers memory of the endpoint's host. It is the caller's, and stays where it is until it is unregistered. The call takes the time of a
// system call, and for pinned memory that of its pages. A contiguous block beyond the static entries of the NIC's translation cache is as good as
// any, but comes into the cache only when it is used: see Region.Static. RegisterMemory fails for nothing, for contiguous blocks of more than grim.block
// bytes, and for more than grim.blocks of them.
func (e *Endpoint) RegisterMemory(bytes []byte, kind Kind) (*Region, error) {
	h := e.host
	m, g := &h.memory, &h.profile.GRIM
	r := &Region{host: h, kind: kind, bytes: bytes}
	page := r.page()
	take := h.profile.Host.System
	switch {
	case len(bytes) == 0:
		return nil, errors.New("grim: no memory to register")
	case kind == Contiguous && r.Size() > uint64(g.Block):
		return nil, fmt.Errorf("grim: a contiguous block of %d B; there can be %d (grim.block): register pinned memory", r.Size(), g.Block)
	case kind == Contiguous && m.blocks == g.Blocks:
		return nil, fmt.Errorf("grim: host %d has registered all of its %d contiguous blocks (grim.blocks): register pinned memory", h.program.id, g.Blocks)
	case kind == Contiguous:
		m.blocks++
	case kind == Pinned:
		take += vtime.Time(r.pages()) * h.profile.Host.Pin
	default:
		return nil, fmt.Errorf("grim: memory of kind %d", uint8(kind))
	}
	i := slices.Index(m.regions, nil)
	if i < 0 {
		i = len(m.regions)
		if i == 1<<indexBits-1 {
			return nil, fmt.Errorf("grim: host %d has registered memory %d times", h.program.id, i)
		}
		m.regions, m.generations = append(m.regions, nil), append(m.generations, 0)
	}
	r.key = Key(m.generations[i]<<indexBits | uint32(i+1))
	m.generations[i]++
	m.regions[i] = r
	r.virtual, _ = m.virtual.take(r.Size(), page, 1<<32, taken{region: r})
	r.physical, _ = m.physical.take(r.Size(), page, 1<<63, taken{region: r})
	e.work(take)
	if kind == Contiguous && h.program.cache.reserve(r) {
		h.nic.HostWrite(staticSize, nil, 0, 0)
	}
	return r, nil
}

// UnregisterMemory ends that messages can name the memory. Those that the NIC has taken in before may still write and read it; done, unless nil, is called when
// there are none any more. It fails with ErrBusy while operations of this host's endpoints use the memory, and if it is another host's, or has been unregistered.
func (e *Endpoint) UnregisterMemory(r *Region, done func()) error {
	h := e.host
	m := &h.memory
	switch {
	case r.host != h || r.gone:
		return fmt.Errorf("grim: host %d has not registered the memory", h.program.id)
	case r.busy > 0:
		return ErrBusy
	}
	r.gone = true
	m.regions[uint32(r.key)&(1<<indexBits-1)-1] = nil
	if r.virtual != 0 {
		m.virtual.give(r)
	}
	m.physical.give(r)
	if r.kind == Contiguous {
		m.blocks--
	}
	e.work(h.profile.Host.System)
	h.nic.HostWrite(staticSize, &forgetting{h.program, r, done}, 0, 0)
	return nil
}

// forgetting is the order to the NIC to forget memory, on the bus.
type forgetting struct {
	program *Program
	region  *Region
	done    func()
}

// Fire implements vtime.Target.
func (f *forgetting) Fire(_, _ uint64) { f.program.forget(f.region, f.done) }

// Label implements vtime.Labelled.
func (f *forgetting) Label(_, _ uint64) string { return "GRIM: memory is unregistered" }

// Map gives the memory of a peripheral device physical addresses of the host, and returns the first. RM-P writes it; written, unless nil, is called by an event
// when bytes of it have been written.
func (h *Host) Map(bytes []byte, written func(offset, n int)) (physical uint64, err error) {
	if len(bytes) == 0 {
		return 0, errors.New("grim: a device without memory")
	}
	physical, _ = h.memory.physical.take(uint64(len(bytes)), uint64(h.profile.GRIM.Page), 1<<63, taken{window: &window{bytes, written}})
	return physical, nil
}

// at returns up to n bytes from a physical address on, as many as are adjacent; nil if there are none that a NIC may write.
func (m *memory) at(address uint64, n int) (b []byte, t taken) {
	t, ok := m.physical.find(address)
	switch {
	case !ok:
		return nil, t
	case t.window != nil:
		w := t.window.bytes
		from := address - t.at
		if from >= uint64(len(w)) {
			return nil, t
		}
		return w[from:min(uint64(len(w)), from+uint64(n))], t
	}
	offset := t.region.offsetOf(address)
	if offset >= t.region.Size() {
		return nil, t
	}
	return t.region.run(offset, n), t
}
