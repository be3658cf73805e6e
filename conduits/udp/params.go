package udp

import (
	"fmt"
	"net/netip"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core/settings"
)

// params are the settings of the conduit.
type params struct {
	am       am2.Config
	security seal.Mode
	insecure bool   // none is permitted beyond the loopback
	address  string // to bind to, or a prefix that it is in; "": see chooseAddress
	device   string // whose address to bind to, or autoDevice
	socket   socket.Options
}

// The defaults were chosen, not measured; those of am2 are in its Defaults.
func defaults() params {
	return params{
		am:       am2.Defaults(),
		security: seal.Auth,
		device:   autoDevice,
		socket:   socket.Options{Buffer: socket.DefaultBuffer, GSO: true, GRO: true},
	}
}

// table sets p to the defaults and returns the settings, bound to it.
func (p *params) table() settings.Table {
	*p = defaults()
	return settings.Table{
		settings.Choice("security", &p.security, "how datagrams are protected: see conduits/udp/README.md, What is protected",
			settings.Is("none", seal.None), settings.Is("auth", seal.Auth), settings.Is("encrypt", seal.Encrypt)),
		settings.Switch("insecure", &p.insecure, "permits security=none beyond the loopback").OwnPerRank(),
		settings.Text("address", &p.address, "an address such as 10.0.0.7, or a prefix such as 10.0.0.0/24",
			"the address to bind to, or a prefix, in which every host finds its own").OwnPerRank(),
		settings.Text("interface", &p.device, "the name of a network interface, or auto", "the interface whose address to bind to; auto: see conduits/udp/README.md, Addresses").OwnPerRank(),
		settings.Int("depth", &p.am.Depth, 1, 1<<12, "requests under way per ordered pair of ranks; a sender waits while its receiver handles none"),
		settings.PowerOfTwo("window", &p.am.Window, 1, 1<<17, "packets in flight per pair and lane, a power of two"),
		settings.Int("packets", &p.am.Packets, 1, 1<<16, "packets of a rank with requests, kept until they are acknowledged"),
		settings.Int("replies", &p.am.Replies, 2, 1<<16, "packets of a rank with replies, kept likewise"),
		settings.Int("stages", &p.am.Stages, 1, 1<<10, "large payloads kept likewise, of each lane"),
		settings.Int("receive", &p.am.Receive, 1, 1<<16, "packets and large payloads of a rank that have arrived and wait for a poll, of each lane; they have some 16 MB at most, what goes to the segment apart"),
		settings.Int("assemblies", &p.am.Assemblies, 0, 1<<16, "large Mediums of a rank that are arriving; of Longs, as many as receive"),
		settings.Size("datagram", &p.am.Datagram, am2.MinDatagram, socket.LargestIPv4, "bytes of a datagram at most; the path and the receivers' buffers may allow less"),
		settings.Size("medium", &p.am.MaxMedium, 512, 1<<24, "bytes of a Medium at most"),
		settings.Size("long", &p.am.MaxBulk, 512, 1<<28, "bytes of a Long at most"),
		settings.Time("gather", &p.am.Gather, 1, settings.Forever, "how long a message may wait for others to share its packet, while earlier packets to the same rank are unacknowledged").OwnPerRank(),
		settings.Size("buffer", &p.socket.Buffer, 4096, 1<<30, "bytes of the kernel's socket buffers").OwnPerRank(),
		settings.Switch("gso", &p.socket.GSO, "whether the kernel divides datagrams that are sent (UDP_SEGMENT)").OwnPerRank(),
		settings.Switch("gro", &p.socket.GRO, "whether the kernel joins datagrams that arrive (UDP_GRO)").OwnPerRank(),
		settings.Time("unreachable", &p.am.Unreachable, 1, settings.Forever, "a peer that is silent for so long and over 16 tries, while it is spoken to, is given up; a time in which this rank was itself stopped does not count").OwnPerRank(),
	}
}

// parseParams reads the settings.
func parseParams(values map[string]string) (p params, err error) {
	p = defaults()
	err = settings.Read("udp", values, p.table)
	return p, err
}

// refused is the error of a setting that cannot be met here.
func refused(key, value, why string, args ...any) error {
	return &settings.Error{Conduit: "udp", Key: key, Value: value, Why: fmt.Sprintf(why, args...)}
}

// permit refuses to leave datagrams unprotected where strangers can send some, unless the user
// insists.
func (p *params) permit(addr netip.Addr) error {
	if p.security == seal.None && !addr.IsLoopback() && !p.insecure {
		return refused("security", "none", "at address %v strangers may send to the job; if the network is trusted, say insecure=yes", addr)
	}
	return nil
}
