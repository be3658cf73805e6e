// Package hardware models machines of SCI adapters, and of what works like them, in virtual
// time: hosts with an I/O bus and memory, adapters, and rings of links. Package sisci puts its
// calls on it; nothing here knows messages or ranks. All constants come from a machine file
// ([Load], docs/machines.md), and [Profile] says what each one means.
//
// # What a store goes through
//
// A CPU's store of up to 64 bytes is one burst. [Node.Store] charges the CPU for filling the
// gather buffer and has the burst come to the bus at the CPU's own time; everything after that is events:
//
//	CPU         pio.word for every 8 bytes; then it goes on, unless pio.outstanding
//	            bursts have no answer yet
//	inject      the host's bus: bus.write cycles and the data's; the adapter's sending
//	            half: adapter.send per packet; then adapter.forward
//	depart, hop every link of the route in turn: link.rate for the packet, link.hop
//	            to the next, link.turn onto another ring or for every stage of a switch;
//	            then adapter.accept
//	accept      the adapter's receiving half: adapter.receive per packet
//	enter       when there is a buffer (adapter.buffers) the answer goes back along the
//	            rest of the rings, link by link, and takes adapter.answer; the burst goes
//	            on across the bus, and then the buffer is free again
//	land        memory.visible later the bytes are in memory, where a CPU that polls
//	            finds them
//
// So a store is answered before it can be seen: [Node.Check], the store barrier, says that all
// bytes are in the hands of the remote adapter, which keeps their order. [Node.TryCheck] asks
// the same without waiting. Loads make the same way with a round trip for each word, during
// which the CPU stalls; they find what came to that host before them in memory, and so does a
// fetch-and-add. A DMA engine sends bursts of dma.burst bytes, each a train of packets, as fast
// as the bus gives them and as long as not too many answers are missing.
//
// A CPU that polls, or looks at memory in steps, brings the kernel to the end of each step only if bytes may land
// until then. That it can tell, since whatever has not crossed the bus takes memory.visible
// longer: [Node.Unchanged].
//
// Buses, adapter halves and links do one thing at a time, in the order in which it comes to
// them. So whatever has most to do can work all the time, and what a machine carries follows
// from that alone (docs/machines.md has figures).
//
// # Sites
//
// A packet, request or answer, comes to one site after the other: to a host, with its bus and the links that
// leave it, or to a port of the switch, with the links of its ring and the hosts there. A site serves packets in the order in which they come, those of
// one time by stage, sender and target. It need not do so at once: what a packet gets at a site is known
// elsewhere later by the latency of the stage at least, its slack (the next site's link, the memory, the sender's
// window). So a site has one event right before the first slack of what has come is over, and serves all that
// has come until then. Three flags of a message mostly make their way by one event for each site. Whoever looks
// at a site's state before has it served first: a CPU that looks at memory, a report, whoever cuts a link. An
// answer to a store without an account is taken in when its place in the window is needed.
//
// Bytes that have landed are in the host's memory when somebody looks there ([Node.Look]). So only the landing of a store
// that is to wake a CPU is an event.
//
// The order of what comes to a site does therefore not depend on when anything was scheduled, and all times are
// those of a machine whose packets each have an event at each stage: a test runs both. Only what is not known
// before its time (bursts of the DMA engine, loads, data that was read, the store of a CPU that has just been woken) is
// in the order of events: after what has been served of that time.
//
// # What goes wrong
//
// With a chance per burst, bursts are refused (Busy), or they or their answers are lost
// (Unknown until the driver has looked into it); a lost answer leaves the bytes delivered, so
// that repeating stores them twice, as on the real thing. Stores without an account are flags,
// which no program could repeat: the adapters are taken to do that, at no cost. A store of
// which the request or the answer comes to a cut link, or to a lost peer, is Dead after
// error.timeout; what has passed before is not affected. [Machine.SetLink] and [Machine.Lose]
// make that happen; hosts learn of it error.detect later ([Machine.Watch]).
//
// # Approximations
//
//   - The gather buffer collects within one call of Store. Its last, partial block leaves at
//     once; on a real processor it may stay until something pushes it out.
//   - Links and switches have no buffers that could fill: what cannot go on waits where it costs
//     nobody else. At most pio.outstanding bursts per host wait in this way. SCI's retries of
//     busy packets are waiting for a buffer here, and cost no link time.
//   - A switch blocks nothing inside, however many stages it has, and all ways through it are
//     equally long: hosts compete for the links to and from it alone.
//   - Echo packets, flow control and idle symbols are not modelled by themselves; the answer goes
//     around the rest of the ring for all of them.
//   - Memory has no bandwidth of its own, and the CPU's own work does not slow anything down.
//   - Transactions are retired in the order of issue, also those to different nodes.
//   - A bus takes one read at a time, and is held while memory works.
//   - A lost host's adapter still passes packets on.
//
// # Determinism
//
// Nothing but the kernel's events and its seed decides: no map is iterated, and errors are
// drawn by each adapter in the order in which bursts come to it, and only if the machine has any. In a steady state no call
// allocates.
package hardware
