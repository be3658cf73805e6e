// Package lanai models a Myrinet NIC with its LANai: SRAM, processor, three DMA engines (send, receive, host),
// doorbells, and the host's I/O bus, on a [vtime.Loop]. What runs on the processor is a control program: a set of
// handlers of events, as package gm has them.
//
// # What is modelled
//
//   - SRAM ([SRAM]) is a budget: every region is allocated, what does not fit is refused, and [SRAM.Report]
//     says who has what.
//   - The processor ([CPU]) carries out handlers, one after the other, each to its end. A dispatcher chooses
//     the pending event of the highest priority. Times are instructions; a handler says how many each of its
//     steps takes.
//   - The SRAM has two accesses per clock. Engines at work take their share first (host bus, receive DMA, send
//     DMA), and the processor has what is left: see [CPU] for the rule.
//   - The host DMA engine ([HostDMA]) has four chains of control blocks with priorities. It crosses the host's
//     bus in bursts ([hw.Bus]), which the host's own accesses compete for.
//   - Doorbells ([Doorbells]) are a region of the NIC's address space: what the host writes there, and where, goes into
//     a FIFO in SRAM.
//   - The send and the receive DMA engine are at work while a packet leaves or enters. How long that takes is the
//     business of the network.
//
// The grain is the instruction step and the burst. Single memory accesses are not simulated: an engine takes a
// share of all clocks while it works. All constants are in machine files ([Load]).
package lanai
