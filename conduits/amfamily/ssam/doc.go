// Package ssam is SSAM, the active messages of Sun workstations with Fore SBA-100 cards on ATM, as a protocol that runs in
// virtual time on a model of that hardware.
//
// # Hardware
//
// A [Card] has an output FIFO and an input FIFO of cells. The processor moves every cell word by word. Cells cross a
// link to the switch and a link from there. ATM has no flow control: a cell that finds the input FIFO full is lost, and counted
// (Card.Overflowed). Nothing else loses cells here.
//
// # Protocol
//
// Users may not touch the card, so everything goes through the kernel. A process opens a [Device], for which the kernel
// allocates, pins and maps a ring of buffers, each of which holds a cell. To send, the process writes into the next buffer and
// traps, with the buffer's offset in a register; the kernel checks the offset and the connection, and copies the cell
// into the output FIFO. To receive, the process polls, which is a trap: the kernel moves all cells of the input FIFO into
// its own buffer, and from there each into the memory of the process whose connection it is of. Then the library runs the
// handlers in a loop. Every send is followed by a poll.
//
// A message is a train of cells. Requests and replies have connections of their own, which keep the order of cells. The
// sources have two things open, which are decided so: a sender has a window of cells for each partner, so that the input
// FIFO never overflows; the partner returns room when its kernel has taken half a window out of the FIFO. And a request is
// replied to always, by an empty message if need be, so that a process keeps no more than a bounded number of requests. Lost
// cells are not sent again: what lacks a cell is dropped and counted.
//
// # Other paths
//
// On the same cards, the library can go other ways ([Path]): at user level, with the FIFOs mapped into the process; through a traditional
// driver, with a system call for a message, an interrupt when cells have come, and a copy in the kernel; and through the
// vendor's interface, which is such a driver below a stream.
package ssam
