package udp

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

// params are the settings of the conduit.
type params struct {
	am       am2.Config
	security seal.Mode
	insecure bool   // none is permitted beyond the loopback
	address  string // to bind to, or a prefix that it is in; "": see chooseAddress
	device   string // whose address to bind to
	socket   socketOptions
}

// The defaults were chosen, not measured; those of am2 are in its Defaults.
func defaults() params {
	return params{
		am:       am2.Defaults(),
		security: seal.Auth,
		socket:   socketOptions{buffer: 8 << 20, gso: true, gro: true},
	}
}

// parseParams reads the settings.
func parseParams(settings map[string]string) (p params, err error) {
	p = defaults()
	for key, value := range settings {
		if err := p.set(key, value); err != nil {
			return p, fmt.Errorf("udp: setting %s=%q: %w", key, value, err)
		}
	}
	return p, nil
}

// set applies one setting.
func (p *params) set(key, value string) (err error) {
	numbers := map[string]struct {
		to       *int
		min, max int
	}{
		"depth":      {&p.am.Depth, 1, 1 << 12},
		"window":     {&p.am.Window, 1, 1 << 17},
		"packets":    {&p.am.Packets, 1, 1 << 16},
		"replies":    {&p.am.Replies, 2, 1 << 16},
		"stages":     {&p.am.Stages, 1, 1 << 10},
		"receive":    {&p.am.Receive, 1, 1 << 16},
		"assemblies": {&p.am.Assemblies, 0, 1 << 16},
		"datagram":   {&p.am.Datagram, am2.MinDatagram, largestIPv4},
		"medium":     {&p.am.MaxMedium, 512, 1 << 24},
		"long":       {&p.am.MaxBulk, 512, 1 << 28},
		"buffer":     {&p.socket.buffer, 4096, 1 << 30},
	}
	switches := map[string]*bool{"gso": &p.socket.gso, "gro": &p.socket.gro, "insecure": &p.insecure}
	times := map[string]*time.Duration{"gather": &p.am.Gather, "unreachable": &p.am.Unreachable}
	if n, ok := numbers[key]; ok {
		*n.to, err = strconv.Atoi(value)
		switch {
		case err != nil:
			return fmt.Errorf("want a whole number, %d to %d", n.min, n.max)
		case *n.to < n.min || *n.to > n.max:
			return fmt.Errorf("out of range %d to %d", n.min, n.max)
		case key == "window" && *n.to&(*n.to-1) != 0:
			return fmt.Errorf("want a power of two")
		}
		return nil
	}
	if s, ok := switches[key]; ok {
		*s, err = parseSwitch(value)
		return err
	}
	if d, ok := times[key]; ok {
		if *d, err = time.ParseDuration(value); err != nil || *d <= 0 {
			return fmt.Errorf("want more than no time, such as 10us or 2.5s")
		}
		return nil
	}
	switch key {
	case "security":
		p.security, err = seal.ParseMode(value)
	case "address":
		p.address = value
	case "interface":
		p.device = value
	default:
		known := []string{"security", "address", "interface"}
		known = slices.AppendSeq(known, maps.Keys(numbers))
		known = slices.AppendSeq(known, maps.Keys(switches))
		known = slices.AppendSeq(known, maps.Keys(times))
		slices.Sort(known)
		err = fmt.Errorf("there is no such setting; known are %s", strings.Join(known, ", "))
	}
	return err
}

// permit refuses to leave datagrams unprotected where strangers can send some, unless the user
// insists.
func (p *params) permit(addr netip.Addr) error {
	if p.security == seal.None && !addr.IsLoopback() && !p.insecure {
		return fmt.Errorf("udp: security=none at address %v, where strangers may send to the job; if the network is trusted, say insecure=yes", addr)
	}
	return nil
}

// parseSwitch reads what is on or off.
func parseSwitch(value string) (on bool, err error) {
	switch value {
	case "on", "yes":
		return true, nil
	case "off", "no":
		return false, nil
	}
	return false, fmt.Errorf("want on or off")
}
