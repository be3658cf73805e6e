package tunnel

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Device is the name of the TUN device in every namespace.
const Device = "aq0"

// Address returns the address of a node: 10.77.0.1 that of node 0, and so on, all of them in
// 10.77.0.0/16.
func Address(node int) netip.Addr {
	n := node + 1
	return netip.AddrFrom4([4]byte{10, 77, byte(n >> 8), byte(n)})
}

// nodeOf returns which of so many nodes has an address, or false if none has.
func nodeOf(a netip.Addr, nodes int) (node int, ok bool) {
	if !a.Is4() {
		return 0, false
	}
	b := a.As4()
	node = int(b[2])<<8 + int(b[3]) - 1
	return node, b[0] == 10 && b[1] == 77 && node >= 0 && node < nodes
}

// deviceQueue is how many packets wait in a TUN device until the tunnel reads them: enough for
// the full send buffers of some sockets, because what does not fit is lost.
const deviceQueue = 16384

// node is a namespace and the device in it.
type node struct {
	namespace int      // descriptor
	tun       int      // descriptor
	counters  *os.File // /proc/net/dev of the namespace
}

// newNodes makes nodes. If that fails none is left.
func newNodes(count, mtu int) (nodes []node, err error) {
	for i := range count {
		made := make(chan node)
		go func() {
			// The thread moves into the new namespace and ends with this goroutine, since that
			// does not unlock it.
			runtime.LockOSThread()
			var n node
			n, err = makeHere(Address(i), mtu)
			made <- n
		}()
		nodes = append(nodes, <-made)
		if err != nil {
			closeAll(nodes)
			return nil, fmt.Errorf("tunnel: node %d: %w", i, err)
		}
	}
	return nodes, nil
}

// closeAll lets go of nodes. The kernel takes some 40 ms for each.
func closeAll(nodes []node) {
	for i := range nodes {
		nodes[i].close()
	}
}

// makeHere moves the calling thread into a new namespace, and makes the node's devices there.
// The caller closes the node, also after an error.
func makeHere(address netip.Addr, mtu int) (node, error) {
	n := node{namespace: -1, tun: -1}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return n, fmt.Errorf("making a network namespace: %w", permit(err))
	}
	if err := n.open(); err != nil {
		return n, err
	}
	return n, configure(address, mtu)
}

// permit says what to do if err is a lack of permission.
func permit(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w; run this as root", err)
	}
	return err
}

// open opens the namespace of the calling thread, a TUN device in it, and its counters.
func (n *node) open() (err error) {
	const here = "/proc/thread-self/"
	if n.namespace, err = unix.Open(here+"ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("opening the network namespace: %w", err)
	}
	if n.counters, err = os.Open(here + "net/dev"); err != nil {
		return fmt.Errorf("opening the counters of devices: %w", err)
	}
	if n.tun, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("opening /dev/net/tun: %w; does the kernel have TUN devices (modprobe tun), and may this user make some?", err)
	}
	req, err := unix.NewIfreq(Device)
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(n.tun, unix.TUNSETIFF, req); err != nil {
		return fmt.Errorf("making a TUN device: %w", permit(err))
	}
	return nil
}

// close lets go of the node, as far as it was made.
func (n *node) close() {
	for _, fd := range []int{n.namespace, n.tun} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if n.counters != nil {
		n.counters.Close()
	}
}

// longQueue is the one step of configure that in a user namespace even root may not take: the
// queue then has its default length of 500.
const longQueue = "its queue"

// configure gives the devices of the calling thread's namespace their addresses and has them
// run (netdevice(7)).
func configure(address netip.Addr, mtu int) error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("configuring a TUN device: %w", err)
	}
	defer unix.Close(sock)
	mask := [4]byte{255, 255}
	for _, step := range []struct {
		what, device string
		request      uint
		set          func(*unix.Ifreq) error
	}{
		{"its address", Device, unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(address.AsSlice()) }},
		{"its network", Device, unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask[:]) }},
		{"its MTU", Device, unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(uint32(mtu)); return nil }},
		{longQueue, Device, unix.SIOCSIFTXQLEN, func(r *unix.Ifreq) error { r.SetUint32(deviceQueue); return nil }},
		{"it running", Device, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }},
		{"loopback running", "lo", unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }},
	} {
		req, err := unix.NewIfreq(step.device)
		if err == nil {
			err = step.set(req)
		}
		if err == nil {
			err = unix.IoctlIfreq(sock, step.request, req)
		}
		if err != nil && (step.what != longQueue || !errors.Is(err, unix.EPERM)) {
			return fmt.Errorf("configuring a TUN device: setting %s: %w", step.what, err)
		}
	}
	return nil
}
