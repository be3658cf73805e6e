package socket

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reception is what recvmsg fills.
type reception struct {
	fromSize uint32
	hdr      unix.Msghdr
	iov      unix.Iovec
	control  [128]byte
}

// Receive takes what the kernel has, into buf: one datagram, or several of the same sender that
// are segment bytes each, the last one maybe less. The sender is in From.
func (s *Socket) Receive(buf []byte) (n, segment int, errno unix.Errno) {
	if !s.gro {
		// The same in a simpler call, which takes some 40 ns less when nothing is there.
		s.in.fromSize = uint32(len(s.From))
		r, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.FD), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)),
			0, uintptr(unsafe.Pointer(&s.From[0])), uintptr(unsafe.Pointer(&s.in.fromSize)))
		if errno != 0 {
			return 0, 0, errno
		}
		return int(r), int(r), 0
	}
	n, errno = s.recvmsg(buf, 0)
	if errno != 0 {
		return 0, 0, errno
	}
	r := &s.in
	segment = n
	if c := r.control[:r.hdr.Controllen]; len(c) >= unix.SizeofCmsghdr+4 {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[0]))
		if h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO {
			segment = int(int32(binary.NativeEndian.Uint32(c[unix.CmsgLen(0):])))
		}
	}
	if segment <= 0 || r.hdr.Flags&unix.MSG_TRUNC != 0 {
		segment = n
	}
	return n, segment, 0
}

// recvmsg is recvmsg(2) into buf and s.in.
func (s *Socket) recvmsg(buf []byte, flags int) (int, unix.Errno) {
	r := &s.in
	r.iov.Base = unsafe.SliceData(buf)
	r.iov.SetLen(len(buf))
	r.hdr = unix.Msghdr{Name: &s.From[0], Namelen: uint32(len(s.From)), Iov: &r.iov, Control: &r.control[0]}
	r.hdr.SetIovlen(1)
	r.hdr.SetControllen(len(r.control))
	n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(s.FD), uintptr(unsafe.Pointer(&r.hdr)), uintptr(flags))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// Failure is what the network has said about something that was sent.
type Failure struct {
	To    Addr
	By    netip.Addr // who has said so, without its zone; not valid if the kernel does not tell
	Errno unix.Errno
}

// Failed takes one of the errors that the kernel keeps for the socket; false if there is none.
func (s *Socket) Failed() (Failure, bool) {
	r := &s.in
	var none [1]byte
	if _, errno := s.recvmsg(none[:], unix.MSG_ERRQUEUE); errno != 0 {
		return Failure{}, false
	}
	c := r.control[:r.hdr.Controllen]
	at := unix.CmsgLen(0)
	offender := at + int(unsafe.Sizeof(unix.SockExtendedErr{}))
	if len(c) < offender {
		return Failure{}, true
	}
	e := (*unix.SockExtendedErr)(unsafe.Pointer(&c[at]))
	f := Failure{To: s.From, Errno: unix.Errno(e.Errno)}
	// Behind it the kernel puts the address of the host that has sent the ICMP message.
	if e.Origin == unix.SO_EE_ORIGIN_ICMP || e.Origin == unix.SO_EE_ORIGIN_ICMP6 {
		var by Addr
		copy(by[:], c[offender:])
		f.By = by.AddrPort().Addr()
	}
	return f, true
}
