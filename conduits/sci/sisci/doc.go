// Package sisci gives a node of an SCI network the life cycles, rules and errors of
// Dolphin's SISCI API (sisci_api.h of the D33x generation), over real shared memory.
// It is the lowest layer of the sci conduit: conduit code above it is written once, and
// what a store, a DMA transfer or an interrupt is, is decided here.
//
// # Nodes and their memory
//
// A node is a rank: a process, or a goroutine of a process that all share. Each has one
// arena ([NewArena]), whose descriptor every other node gets before it calls [Open]. The
// arena begins with a directory that all nodes read and write: the node's segments, the
// connections to them, its interrupts, and what its sleepers wait on. The rest is the
// memory from which [Device.CreateSegment] carves segments, in whole pages.
//
// # Life cycles
//
// A local segment is created, prepared, then mapped, and made available:
//
//	Create → Prepare → Map … SetAvailable ⇄ SetUnavailable … Unmap → Remove
//
// A remote segment is connected, mapped, unmapped, disconnected:
//
//	Connect → Map → (Ptr, Window, Push, Store…; CreateSequence → Start, Check → Remove)
//	        → Unmap → Disconnect
//
// A DMA queue gathers transfers, is posted, comes to an end, and is reset:
//
//	CreateDMAQueue → Enqueue… → Post → Wait → Reset → Remove
//
// What is used by something else cannot go away: such a call says [ErrBusy]. A call in the
// wrong state says [ErrIllegalOperation] or the error that the published API has for it.
// Every error says what it is about and wraps an [Errno] with the published number.
//
// One adapter per node is all there is, so the calls that take an adapter number in C do
// not have it here; flags that tune hardware are left out with it. A call that the C API
// can make asynchronous is made in a goroutine.
//
// # What live means
//
// A store to a mapped segment is an ordinary store to shared memory: posted, in order
// (see package shm for flags), and never refused. So a sequence answers OK unless the
// node's supervisor has reported the link down ([Device.SetLink]) or the node lost
// ([Device.NodeLost]), or the owner has broken the connection; Config.Fault lets tests
// have it otherwise. DMA is done by the processor that posts it. There being no hardware
// to take a mapping away, a segment that was disconnected by force keeps its memory until
// its importers have disconnected or are lost.
//
// # What modelled means
//
// A device with a [Place] is on a modelled machine of package hardware, whose nodes share a
// [Network], and belongs to the proc of its host. The calls and their rules are the same. A
// call takes the machine's time (call.* of its file) and has its effect at the end of it; a wait
// passes in virtual time. A store goes through the adapter: it changes the remote memory when
// it arrives, a sequence waits for the answers and says what became of them, and a DMA queue
// stays posted until the engine has stopped. What a store goes to is a buffer from Window to
// Close. Flags, stored by Store8 and the like, arrive in order behind what was stored before
// them and are never lost, because nothing could repeat them. The largest segment, map
// entries, DMA alignment and queue lengths are the machine's; memory and tables are made as
// they are used, so that an idle node takes little, and a segment made with [Sparse] gets memory
// block by block ([LocalSegment.Block]). A segment's memory lives as long as its [Network]. Links that are cut and nodes that are lost
// are found out by the drivers a while later, which report them as a supervisor does live.
// What interrupts and drivers take of the processor of the other host is not modelled.
//
// # Events and waiting
//
// Connections of local segments and the state of remote ones change by the deeds of other
// nodes. Who asks, by WaitEvent or by a callback from [Device.Service], is told how things
// differ from what it was told last; nothing is queued, so nothing can overflow. Calls
// with a timeout sleep in the kernel until the thing they wait for has changed, whichever
// process changes it. An interrupt wakes [LocalInterrupt.Wait] and rings the node's bell
// ([Device.Bell]), for those who sleep on several descriptors.
package sisci
