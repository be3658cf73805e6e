package netif

import (
	"fmt"
	"net/netip"

	"github.com/aqueduct-go/aqueduct/internal/ifaddr"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// mostAddresses is how many addresses an offer has at most, so that it fits into what a bootstrap takes.
const mostAddresses = 256

// Encode writes an offer for the other ranks; of its addresses those that are one too many are left out.
func (o *Offer) Encode() []byte {
	b := wire.AppendUint64(nil, o.Namespace)
	var chosen uint32
	if o.Chosen {
		chosen = 1
	}
	b = wire.AppendUint32(b, chosen)
	for _, a := range o.Addresses[:min(len(o.Addresses), mostAddresses)] {
		b = wire.AppendText(b, a.Prefix.String())
		b = wire.AppendText(b, a.Interface)
		b = wire.AppendText(b, a.Ignored)
	}
	return b
}

// Decode reads the offers of all ranks. Equal ones become one.
func Decode(all [][]byte) ([]*Offer, error) {
	offers := make([]*Offer, len(all))
	known := make(map[string]*Offer)
	for r, b := range all {
		o := known[string(b)]
		if o == nil {
			var err error
			if o, err = decode(b); err != nil {
				return nil, fmt.Errorf("the addresses of rank %d: %w", r, err)
			}
			known[string(b)] = o
		}
		offers[r] = o
	}
	return offers, nil
}

// decode reads an offer.
func decode(b []byte) (*Offer, error) {
	r := wire.NewReader(b)
	o := &Offer{Namespace: r.Uint64(), Chosen: r.Uint32() == 1}
	for r.Err() == nil && r.Len() > 0 {
		text := r.Text()
		a := ifaddr.Address{Interface: r.Text(), Ignored: r.Text()}
		if r.Err() != nil {
			break
		}
		var err error
		if a.Prefix, err = netip.ParsePrefix(text); err != nil {
			return nil, err
		}
		o.Addresses = append(o.Addresses, a)
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	if o.Chosen && len(o.Addresses) == 0 {
		return nil, fmt.Errorf("the address that was chosen is missing")
	}
	return o, nil
}
