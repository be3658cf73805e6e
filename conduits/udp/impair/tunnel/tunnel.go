package tunnel

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"golang.org/x/sys/unix"
)

// MaxNodes is how many nodes a tunnel may have.
const MaxNodes = 1024

// The MTU of the devices, in bytes of IP packets.
const (
	DefaultMTU = 1500
	minMTU     = 68 // what every IPv4 network carries (RFC 791)
	maxMTU     = 65535
)

// Config says what tunnel to make.
type Config struct {
	Nodes    int
	Settings impair.Settings // of every link, until Impair changes them
	Seed     uint64          // of all that is random in the links
	MTU      int             // of the devices; 0: DefaultMTU
}

// Check returns an error that says what of the configuration cannot be.
func (c *Config) Check() error {
	switch {
	case c.Nodes < 1 || c.Nodes > MaxNodes:
		return fmt.Errorf("tunnel: %d nodes: want 1 to %d", c.Nodes, MaxNodes)
	case c.MTU != 0 && (c.MTU < minMTU || c.MTU > maxMTU):
		return fmt.Errorf("tunnel: MTU of %d bytes: want %d to %d", c.MTU, minMTU, maxMTU)
	}
	return c.Settings.Check()
}

// Tunnel is a set of network namespaces and what joins them. Its methods may be called at any
// time by any goroutine.
type Tunnel struct {
	nodes []node
	start time.Time
	wake  int // eventfd that ends the forwarding
	ended sync.WaitGroup

	mu      sync.Mutex // held while packets are handled, not while waiting for some
	net     *impair.Net
	buffer  []byte
	stray   uint64
	refused uint64
	closed  bool
}

// New makes the namespaces and begins to carry packets between them. It needs CAP_SYS_ADMIN
// and CAP_NET_ADMIN, as root has them, and fails naming what could not be made.
func New(c Config) (*Tunnel, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.MTU == 0 {
		c.MTU = DefaultMTU
	}
	net, err := impair.NewNet(c.Settings, c.Seed)
	if err != nil {
		return nil, err
	}
	t := &Tunnel{net: net, start: time.Now(), buffer: make([]byte, maxMTU)}
	if t.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	if t.nodes, err = newNodes(c.Nodes, c.MTU); err != nil {
		t.release()
		return nil, err
	}
	t.ended.Go(t.forward)
	return t, nil
}

// Namespace returns the path of a node's network namespace, which Enter and nsenter(1) open. It
// is valid until the tunnel is closed or this process ends.
func (t *Tunnel) Namespace(node int) string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), t.nodes[node].namespace)
}

// Impair changes what happens from now on to packets from one node to another.
func (t *Tunnel) Impair(from, to int, s impair.Settings) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.net.Impair(place(Address(from)), place(Address(to)), s)
}

// Stats count what happened to the packets of a tunnel.
type Stats struct {
	impair.Stats        // by its links
	Overrun      uint64 // lost in a device, because the tunnel was slower than the sender
	Stray        uint64 // not IPv4, or for no node
	Refused      uint64 // not taken by the kernel that they were for
}

// Stats returns what has happened so far.
func (t *Tunnel) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Stats{Stats: t.net.Stats(), Stray: t.stray, Refused: t.refused}
	for i := range t.nodes {
		s.Overrun += t.nodes[i].overrun()
	}
	return s
}

// Close ends the forwarding and lets go of the namespaces: they vanish with the last process
// in them. What is under way is lost.
func (t *Tunnel) Close() {
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	if closed {
		return
	}
	unix.Write(t.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	t.ended.Wait()
	t.release()
}

// release closes the descriptors.
func (t *Tunnel) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	closeAll(t.nodes)
	t.nodes = nil
	unix.Close(t.wake)
}

// place returns what the net calls a node.
func place(a netip.Addr) netip.AddrPort { return netip.AddrPortFrom(a, 0) }

// Enter moves the calling thread into the network namespace of a path. The caller has locked
// its goroutine to the thread, and does not unlock it unless all may be there that ever runs
// on that thread. Sockets stay in the namespace they were made in, whichever thread uses them.
func Enter(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("tunnel: opening the network namespace %s: %w; does the process that made it live, and is this the same user?", path, err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("tunnel: entering the network namespace %s: %w", path, permit(err))
	}
	return nil
}
