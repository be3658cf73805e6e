package impair

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Net joins addresses by links, one for each direction between two of them, made at the
// first datagram. What is sent to an address arrives there; whether anybody lives there is
// its user's matter. It has a clock that only Until moves. One goroutine at a time may use it.
type Net struct {
	settings Settings
	seed     uint64
	now      time.Duration
	way      vtime.Queue[Arrival] // what is under way
	routes   map[route]Wire
	links    []*Link // in the order in which they were made
}

// route is one direction between two addresses.
type route struct{ from, to netip.AddrPort }

// Arrival is a datagram that has arrived.
type Arrival struct {
	At       time.Duration // when
	From, To netip.AddrPort
	Datagram []byte // the receiver's
	Header   int    // bytes of it that were given as header
	Altered  bool   // the payload has been corrupted or truncated
}

// NewNet returns a net whose links all have the same settings, until Impair or Connect give
// them others. Each has random numbers of its own, which depend on the seed and the two
// addresses alone.
func NewNet(s Settings, seed uint64) (*Net, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &Net{settings: s, seed: seed, routes: make(map[route]Wire)}, nil
}

// Now returns the net's time, 0 at first.
func (n *Net) Now() time.Duration { return n.now }

// Send sends a datagram. The link may alter the payload, but not the header in front of it;
// fake sockets have none. Neither is kept.
func (n *Net) Send(from, to netip.AddrPort, header, payload []byte) {
	for _, d := range n.wire(from, to).Pass(n.now, header, payload) {
		at := max(d.At, n.now)
		n.way.Push(vtime.FromDuration(at), Arrival{
			At: at, From: from, To: to, Datagram: d.Datagram, Header: len(header), Altered: d.Altered,
		})
	}
}

// Until moves the clock to the next arrival and returns that, if there is one not after the
// limit; else it moves the clock to the limit, unless it is there already, and returns false.
// What arrives at the same time arrives in the order of sending.
func (n *Net) Until(limit time.Duration) (Arrival, bool) {
	if at, ok := n.Next(); ok && at <= limit {
		_, a := n.way.Pop()
		n.now = max(n.now, at)
		return a, true
	}
	n.now = max(n.now, limit)
	return Arrival{}, false
}

// Next returns when the next datagram arrives, or false if none is under way.
func (n *Net) Next() (at time.Duration, ok bool) {
	if n.way.Len() == 0 {
		return 0, false
	}
	_, a := n.way.First()
	return a.At, true
}

// Impair changes what happens from now on to datagrams in one direction: a loss of 1 breaks
// it. It fails if the settings cannot be, or another Wire was put there.
func (n *Net) Impair(from, to netip.AddrPort, s Settings) error {
	link, ok := n.wire(from, to).(*Link)
	if !ok {
		return fmt.Errorf("impair: from %v to %v there is a wire that is no Link; connect a Link first", from, to)
	}
	return link.Set(s)
}

// Connect puts a wire of the caller's in one direction. What is under way still arrives.
func (n *Net) Connect(from, to netip.AddrPort, w Wire) { n.routes[route{from, to}] = w }

// Stats returns what the links of the net have done together. Wires of the caller's do not count.
func (n *Net) Stats() Stats {
	var sum Stats
	for _, l := range n.links {
		sum.Add(l.stats)
	}
	return sum
}

// wire returns what joins two addresses.
func (n *Net) wire(from, to netip.AddrPort) Wire {
	r := route{from, to}
	if w := n.routes[r]; w != nil {
		return w
	}
	l, err := NewLink(n.settings, r.seed(n.seed))
	if err != nil {
		panic(err) // NewNet has checked them
	}
	n.routes[r] = l
	n.links = append(n.links, l)
	return l
}

// seed returns the seed of a link.
func (r route) seed(net uint64) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %v %v", net, r.from, r.to))
	return binary.LittleEndian.Uint64(sum[:])
}
