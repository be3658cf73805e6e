// Package gm has a control program for the LANai in the manner of Myricom's GM, with in-transit buffers, and the
// library that programs on hosts use it by, on a [vtime.Loop].
//
// # The control program
//
// [Program] has four state machines. SDMA moves fragments of messages from the host to the NIC, Send moves packets
// from the NIC to the network, Recv takes packets in, and RDMA moves their payload to the host. Each is a few
// handlers of events ([lanai.Handler]), which run to their end; there is no goroutine. Send and Recv have two
// buffers each.
//
// Packets to a node are numbered, within a session. The receiver takes them in order and acknowledges them; what
// is missing, corrupt or not expected is sent again from there on (go-back-N), at once after a NACK and else by
// time. So messages between two ports arrive exactly once and in order, whatever packets are lost and however
// routes change. A message that cannot be delivered is reported to its sender. Where it fails alone, and those behind it
// are sent in another session, the receiver has refused it for good: the port is closed, does not accept the size, or has had no
// receive buffer for gm.patience.
//
// A sender's first packet to a node asks for a number, which its later packets have (NACKOpen). A program that is new on
// a NIC asks again and gets another number, and a node whose own program is new knows no number. So a packet that comes
// late from before a restart, of either node, is not taken for a new one. Numbers have 16 bits, and those of the first
// program of a node begin at a random one. A host counts its programs, so that the packet must not come later than 65,535 of them.
// What is not acknowledged when a node restarts is sent to its new program.
//
// A node that closes says so once (NACKClose). Whether the other node hears that or not, the rest of a message that has come in part
// is waited for as long as a sender would try, and no longer: then its receive buffer is for another message.
//
// # Programs
//
// [NewPair] and [NewTestbed] make hosts, the fabric between them, and all routes. [NewHost] puts a host at a port of a
// fabric of one's own, and [Host.SetRoute] gives it routes. The methods Now, At, RunUntil, Run and Close of a [Pair] and of
// a [Testbed] are those of [vtime.Simulation], on which they run. Nothing happens but in RunUntil and Run: a call of the
// library schedules events, which fire on the stack of whoever calls these two, and so do callbacks. RunUntil fires what is
// due up to a time, and brings the clock there; it can be called again. Run fires all that is left and closes the simulation:
// the clock stands still, [Port.Send] and [Port.Provide] fail with [ErrOver], and a second Run is an error.
//
// All ports of a host, gm.ports of the machine, are free; the control program has none for itself. [HalfRoundTrip] and [Stream]
// open ports from 2 on, one for each pair, and close them.
//
// Cables harm packets by the chances [fabric.Constants].Error: Profile.Fabric.Error, of a packet on a cable, each cable for
// itself. They are in parts per billion ([machine.Chance]); files have ppm or ppb. [fabric.Fabric.Plan] harms a packet by plan.
//
// # In-transit buffers
//
// A packet of the type ITB has another part of its route behind that type. When its first four bytes have come,
// the event Early Recv Packet has the Recv machine look at the type. An in-transit packet is sent on at once,
// while it arrives (virtual cut-through), if the send DMA is free; else it is pending, and sent as soon as Send is
// free. See [Image] for what of this a program has, and for what happens when buffers run out.
//
// The paper is S. Coll, J. Flich, M. Malumbres, P. Lopez, J. Duato, F. Mora, "A first implementation of In-Transit
// Buffers on Myrinet GM software"; comments call it Coll.
package gm
