package component

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Traits are the sizes of a component: with the set of protocols, its entry in the configuration repository. All components
// of a network have the same.
type Traits struct {
	// The six circular structures in the NIC's memory.
	SendRing    int // frames on their way to the network
	ReceiveRing int // frames that have come
	TxRequests  int // control blocks of the host DMA, for frames that leave
	RxRequests  int // and for frames that have come
	TxFIFO      int // entries: frames that the host has handed over
	RxFIFO      int // entries: frames that are in the host's memory

	MTU      int // payload of a frame in bytes, at most
	Small    int // a frame of up to so many bytes of payload is written by the host's processor, a larger one fetched by DMA
	Staging  int // frames that the staging buffer holds, in the host's memory
	Messages int // that have been handed over, and are not done

	Window  int        // Reliability: frames to a node that are not acknowledged; 1: each waits for the one before
	Timeout vtime.Time // Reliability: until frames that are not acknowledged are sent again
	Tries   int        // Reliability: time-outs in a row, until the node counts as unreachable

	Groups int // Multicast: groups of nodes besides that of all

	Posted int // Rendezvous: buffers that are posted, and not filled
	Long   int // Rendezvous: messages of so many bytes and more make one
	Probe  int // Adaptive: of so many messages of a frame and more that would not make a rendezvous, one does, so that its price is known
}

// Defaults returns traits that fit the NICs of package lanai.
func Defaults() Traits {
	return Traits{
		SendRing: 16, ReceiveRing: 16, TxRequests: 16, RxRequests: 16, TxFIFO: 32, RxFIFO: 32,
		MTU: 4096, Small: 256, Staging: 64, Messages: 64,
		Window: 8, Timeout: vtime.Millisecond, Tries: 20,
		Groups: 4,
		Posted: 16, Long: 8192, Probe: 32,
	}
}

// Limits of traits.
const (
	minMTU = 64
	maxMTU = 32 << 10
)

// check refuses traits that make no sense with a set of protocols, for a network of so many nodes.
func (t *Traits) check(set Protocol, nodes int) error {
	var errs []error
	in := func(name string, n, least, most int) {
		if n < least || n > most {
			errs = append(errs, fmt.Errorf("component: Traits.%s is %d, but must be from %d to %d", name, n, least, most))
		}
	}
	in("SendRing", t.SendRing, 1, 1<<16)
	in("ReceiveRing", t.ReceiveRing, 1, 1<<16)
	in("TxRequests", t.TxRequests, 1, 1<<16)
	in("RxRequests", t.RxRequests, 1, 1<<16)
	in("TxFIFO", t.TxFIFO, 1, 1<<16)
	in("RxFIFO", t.RxFIFO, 1, 1<<16)
	in("MTU", t.MTU, minMTU, maxMTU)
	in("Small", t.Small, 0, t.MTU)
	in("Staging", t.Staging, 1, 1<<20)
	in("Messages", t.Messages, 1, 1<<16)
	if set&Reliability != 0 {
		in("Window", t.Window, 1, 1<<16)
		in("Tries", t.Tries, 1, 1<<20)
		if t.Timeout < 1 {
			errs = append(errs, errors.New("component: Traits.Timeout must take time"))
		}
	}
	if set&Credits != 0 && t.Staging < nodes-1 {
		errs = append(errs, fmt.Errorf("component: Traits.Staging is %d frames; with Credits each of %d other nodes has one at least", t.Staging, nodes-1))
	}
	if set&Multicast != 0 {
		in("Groups", t.Groups, 0, 1<<10)
	}
	if set&Rendezvous != 0 {
		in("Posted", t.Posted, 1, 1<<16)
		in("Long", t.Long, 1, 1<<30)
	}
	if set&Adaptive != 0 {
		in("Probe", t.Probe, 2, 1<<30)
		if set&Rendezvous == 0 {
			errs = append(errs, errors.New("component: Adaptive chooses between the staging buffer and Rendezvous, which is not selected"))
		}
	}
	return errors.Join(errs...)
}
