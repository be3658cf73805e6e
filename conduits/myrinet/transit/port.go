package transit

import "github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"

// Port is what a control program wants of the end of its host's link: [fabric.Port] in a modelled network, link.Port in a real one.
type Port interface {
	// Attach gives the port its NIC, or takes it away with nil: the port then absorbs what comes.
	Attach(n fabric.NIC)
	// Idle reports whether a packet may be sent.
	Idle() bool
	// Inject sends a packet, over a port that is idle. Gone of the NIC follows, maybe before Inject returns. The sending is nil if the port sends packets as a whole.
	Inject(p fabric.Packet) *fabric.Sending
	// InjectAs is Inject of a packet that has come before with a verdict, and keeps it.
	InjectAs(p fabric.Packet, v fabric.Verdict) *fabric.Sending
	// Forward sends a packet that is still arriving, without its first skip bytes.
	Forward(a *fabric.Arrival, skip int) *fabric.Sending
	// Free says that nobody refers any more to a packet that has come, as Packet of the arrival returned it, or cut at its end.
	Free(p fabric.Packet)
}
