// Package hpam is HPAM, the active messages of HP workstations with Medusa cards in an FDDI ring, as a protocol that runs
// in virtual time on a model of that hardware.
//
// # Hardware
//
// A [Ring] carries one frame at a time: a station sends when the token passes it. A [Card] is a station. Its memory holds
// buffers, which the processor writes and reads over the bus. A buffer is sent when its pointer goes into the card's
// TX_READY_FIFO; a frame that comes is put in a buffer of the receive pool, and its pointer into the RX_READY_FIFO. If the
// pool is empty the frame is dropped and counted (Card.Overflowed).
//
// # Protocol
//
// A [Process] has, for every partner, 4 request and 4 reply buffers with a descriptor each. A request takes a free
// request buffer and starts its timer. The reply is the acknowledgement: it frees the buffer when its handler has returned. A
// handler that does not reply is replied to by an empty message. When the timer expires first, the request is sent again.
//
// The source leaves open how duplicates are told. Here each request buffer numbers its requests, and the request in
// buffer i is replied to from reply buffer i. So a receiver knows by the number whether a request is new, has come before, or
// is older than one that has come. One that has come before is replied to again from the reply buffer, and its handler
// does not run again. The next request in the buffer tells that the reply has come.
//
// A buffer whose pointer is still in the TX_READY_FIFO, because it was to be sent a second time, is not written to.
//
// # Processes
//
// The card is mapped whole into every process of a [Workstation], and one of them, the active one, may use it. All
// messages carry the key of their program. The active process puts what has another key in its output queue. The
// scheduling daemon ([Workstation.Activate], [Workstation.Rotate]) stops the active process between two calls, waits until the
// TX_READY_FIFO is empty, moves the output queue to the input queues of those whose keys the messages have, swaps the state of the
// network, and starts another process, which reads its input queue before the network.
//
// [Sockets] are TCP on the same cards and ring, to compare with.
package hpam
