// Package component has a customizable component for low-level communication in the manner of EPOS and SNOW: a small
// baseline that moves messages over Myrinet, and lightweight protocols that act at named point-cuts of its algorithm, composed
// when the program is compiled. It runs on a [vtime.Loop], on modelled NICs ([lanai.NIC]) in a modelled network.
//
// # The baseline
//
// The NIC's memory has six circular structures, sized by [Traits]: Send Ring and Receive Ring have frames before and after
// the network, Tx and Rx DMA Requests are chains of control blocks of the host DMA, Tx and Rx FIFO Queue tell NIC and host
// that frames are ready. A message is cut into frames. The host writes a small frame into the Send Ring by its
// processor, and a control block for a large one; then it rings the doorbell. A small frame leaves at once, a large one when
// its host DMA has ended, behind what was handed over before for the same node. A frame that comes goes to the staging buffer in the host's
// memory, a circular one as well, without anybody asking whether the program has copied what was there. Each frame there has a
// tag; a message of which a frame was overwritten before it was copied is refused and counted.
//
// # Protocols
//
// [Protocol] lists them. A composition is a type, and what it does not name is not on the path of its frames, in their headers, nor in the
// NIC's memory:
//
//	type Reliable [component.Reliability | component.Credits]byte
//	c, err := component.New[Reliable](fabric, profile, component.Defaults(), id)
//
// [Point] lists the point-cuts. At each, protocols are called in the order of their constants. All components of a network have one
// composition and the same [Traits].
//
// # Families
//
// [Network] is what technologies have in common, of which the component is one. [Communicator] (Link, Port, Mailbox) and [Channel] (Datagram, Stream) are what
// programs use. Each is an interface of all that its members can do.
//
// # Running
//
// Nothing happens but in the loop: calls schedule events, and handlers and callbacks are called by events. Handlers may call everything.
// One goroutine at a time may use the components of a loop.
//
// There is no protection: any program of a host uses any port, and a node believes what a frame says of its source. The paper leaves
// that to a protocol in the manner of VIA, which would change the baseline.
//
// The paper is T. Santos, A. Froehlich, "A Customizable Component for Low-Level Communication Software". docs/component.md says
// what it leaves open and what was chosen here.
package component
