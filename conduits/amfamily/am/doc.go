// Package am is the original Active Messages as a protocol that runs in virtual time, on a model of a parallel machine of
// its time.
//
// # Hardware
//
// The machine has a [Network] for requests and one for replies. A node has, in each, a port out and a port in, which the
// process uses itself. The networks lose nothing and buffer nothing: a message whose receiver's port is occupied waits on its
// way, and occupies the port of its sender. A message that has come occupies the port until it has been taken, and
// interrupts the processor.
//
// # Protocol
//
// The header of a message has the address of its handler, which is the same on all nodes as all run one image. A sender
// blocks until the message has left its port. The handler runs at once, in the interrupt, and takes the message out of the
// network when it returns. There are no buffers. While a process waits to send, it takes what comes: a request both
// requests and replies, and a reply in a handler replies alone. As handlers of replies send nothing, replies always get
// through, and so does everything else. On a machine with one network for both, two nodes that ask each other can stop each
// other for ever.
//
// Put and Get are split-phase: they return when they have been sent. Put's handler copies the data and raises a flag; Get's
// handler sends a Put back, built from the header. The flag is in the memory of the node that receives the data.
//
// [Library] is a layer for sending and receiving with buffers in the kernel, on the same machine, to compare with.
package am
