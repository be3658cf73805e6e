package socket

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	batchItems  = 256 // datagrams gathered at most
	fewItems    = 8   // for which there is memory at first
	runItems    = 64  // datagrams of one segmented send: UDP_MAX_SEGMENTS of older kernels
	controlSize = 24  // of UDP_SEGMENT: a header of 16 bytes, two bytes, padding
)

// batch gathers datagrams for one system call.
type batch struct {
	items    []item
	iovs     []unix.Iovec // of the items, one or two each
	loose    int          // items that IP may divide
	msgs     []unix.Mmsghdr
	runs     []run
	controls [][controlSize]byte
	// dropped counts datagrams that the kernel would not take. They are lost like others.
	dropped uint64
}

// item is a datagram.
type item struct {
	to    *Addr
	size  int
	first int // of its iovs
	n     int // how many
	loose bool
}

// run is a part of the items that goes as one message of the system call.
type run struct{ from, to int }

// Add gathers a datagram. Addresses and bytes are used until flush. loose lets IP divide it.
func (s *Socket) Add(to *Addr, head, body []byte, loose bool) {
	b := &s.out
	if len(b.items) == cap(b.items) {
		s.extend()
	}
	n, first := len(b.items), len(b.iovs)
	b.items = b.items[:n+1]
	it := &b.items[n]
	it.to, it.size, it.first, it.n, it.loose = to, len(head)+len(body), first, 1, loose
	b.iovs = b.iovs[:first+2]
	v := (*[2]unix.Iovec)(b.iovs[first:])
	v[0].Base = unsafe.SliceData(head)
	v[0].SetLen(len(head))
	if len(body) > 0 {
		it.n = 2
		v[1].Base = unsafe.SliceData(body)
		v[1].SetLen(len(body))
	}
	b.iovs = b.iovs[:first+it.n]
	if loose {
		b.loose++
	}
}

// extend makes room for more items: memory for twice as many, and two iovs each, or, when there
// are as many as may be, by sending them.
func (s *Socket) extend() {
	b := &s.out
	n := cap(b.items)
	if n == batchItems {
		s.Flush()
		return
	}
	more := max(2*n, fewItems)
	b.items = append(make([]item, 0, more), b.items...)
	b.iovs = append(make([]unix.Iovec, 0, 2*more), b.iovs...)
}

// Flush sends what was gathered. What the kernel does not take is dropped.
func (s *Socket) Flush() {
	b := &s.out
	switch {
	case len(b.items) == 0:
		return
	case len(b.items) == 1 && b.loose == 0:
		s.sendRun(run{0, 1}, false)
	case b.loose == 0:
		s.sendAll()
	default:
		s.sendApart()
	}
	b.items, b.iovs, b.loose = b.items[:0], b.iovs[:0], 0
}

// sendAll sends the items, as many as possible in one message each, by one system call.
func (s *Socket) sendAll() {
	b := &s.out
	b.runs = b.runs[:0]
	for i := 0; i < len(b.items); {
		j := s.runFrom(i)
		b.runs = append(b.runs, run{i, j})
		i = j
	}
	if len(b.runs) == 1 {
		s.sendRun(b.runs[0], false)
		return
	}
	for len(b.msgs) < len(b.runs) {
		b.msgs, b.controls = append(b.msgs, unix.Mmsghdr{}), append(b.controls, [controlSize]byte{})
	}
	for i, r := range b.runs {
		s.message(&b.msgs[i].Hdr, &b.controls[i], r)
	}
	for sent := 0; sent < len(b.runs); {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(s.FD), uintptr(unsafe.Pointer(&b.msgs[sent])), uintptr(len(b.runs)-sent), 0, 0, 0)
		if errno == 0 {
			sent += int(n)
			continue
		}
		if !s.cope(errno, b.runs[sent]) {
			b.dropped += uint64(len(b.items) - b.runs[sent].from)
			return
		}
		sent++
	}
}

// runFrom returns the end of the items from i on that the kernel can divide by itself: to one
// address and equally long, but for the last.
func (s *Socket) runFrom(i int) int {
	items := s.out.items
	first, total := items[i], items[i].size
	j := i + 1
	if !s.gso || first.size%Alignment != 0 { // the receiver would have to copy them
		return j
	}
	for j < len(items) && j-i < runItems && *items[j].to == *first.to && items[j].size <= first.size && total+items[j].size <= LargestIPv4 {
		total += items[j].size
		if j++; items[j-1].size < first.size {
			break
		}
	}
	return j
}

// message describes a run to the kernel.
func (s *Socket) message(hdr *unix.Msghdr, control *[controlSize]byte, r run) {
	b := &s.out
	first, last := &b.items[r.from], &b.items[r.to-1]
	*hdr = unix.Msghdr{Name: &first.to[0], Namelen: first.to.size(), Iov: &b.iovs[first.first]}
	hdr.SetIovlen(last.first + last.n - first.first)
	if r.to-r.from == 1 {
		return
	}
	c := (*unix.Cmsghdr)(unsafe.Pointer(control))
	c.Level, c.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	c.SetLen(unix.CmsgLen(2))
	*(*uint16)(unsafe.Pointer(&control[unix.CmsgLen(0)])) = uint16(first.size)
	hdr.Control = &control[0]
	hdr.SetControllen(unix.CmsgSpace(2))
}

// sendRun sends one run, and copes with what goes wrong if it is not part of that already.
func (s *Socket) sendRun(r run, coping bool) unix.Errno {
	b := &s.out
	if len(b.msgs) == 0 {
		b.msgs, b.controls = make([]unix.Mmsghdr, 1), make([][controlSize]byte, 1)
	}
	var errno unix.Errno
	if it := &b.items[r.from]; r.to-r.from == 1 && it.n == 1 {
		// The same in a simpler call, which takes some 80 ns less.
		_, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.FD), uintptr(unsafe.Pointer(b.iovs[it.first].Base)), uintptr(it.size),
			0, uintptr(unsafe.Pointer(&it.to[0])), uintptr(it.to.size()))
	} else {
		hdr := &b.msgs[0].Hdr
		s.message(hdr, &b.controls[0], r)
		_, _, errno = syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(s.FD), uintptr(unsafe.Pointer(hdr)), 0)
	}
	if errno != 0 && !coping && !s.cope(errno, r) {
		b.dropped += uint64(r.to - r.from)
	}
	return errno
}

// sendApart sends the items one by one, since IP may divide some of them.
func (s *Socket) sendApart() {
	for i := range s.out.items {
		if s.out.items[i].loose == s.whole {
			_ = s.fragment(s.whole) // if it fails the datagram goes as the others do
		}
		s.sendRun(run{i, i + 1}, false)
	}
	if !s.whole {
		_ = s.fragment(false)
	}
}

// cope does what can be done for a run that the kernel has refused. It reports false if the
// kernel has no room, so that it is of no use to go on.
func (s *Socket) cope(errno unix.Errno, r run) bool {
	b := &s.out
	switch errno {
	case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
		return false
	case unix.EMSGSIZE:
		if s.Narrowed != nil {
			s.Narrowed(b.items[r.from].to)
		}
		s.oneByOne(r, s.fragment(true) == nil)
		_ = s.fragment(false)
		return true
	case unix.EINVAL, unix.EIO: // a device without checksums cannot divide, say
		if r.to-r.from > 1 {
			s.gso = false
			s.oneByOne(r, true)
			return true
		}
	}
	// The kernel tells by this call what became of an earlier datagram. It tells once.
	s.Troubled = true
	s.oneByOne(r, true)
	return true
}

// oneByOne sends the items of a run each by itself, if that is of any use, and counts those
// that fail.
func (s *Socket) oneByOne(r run, useful bool) {
	for i := r.from; i < r.to; i++ {
		if !useful || s.sendRun(run{i, i + 1}, true) != 0 {
			s.out.dropped++
		}
	}
}
