// Package scampi models ScaMPI, Scali's MPI library on SCI, as a network of the mpi conduit:
// two-sided message passing in virtual time, on the calls of package sisci and the hardware of
// package hardware. It is the rival that the conduit on SCI was measured against (H. Su, B.
// Gordon, S. Oral, A. George, "GASNet Core API on Scalable Coherent Interface: Design and
// Realization"; short "Su").
//
// What is published of the library's inside is the Users Guide of its successor, Scali MPI
// Connect, release 4.4, section 2.3 ("SMC"). This package follows it in the following: buffers
// lie in the memory of the receiver, which has one set of them for each process that it
// communicates with; senders deposit messages there directly; the channel is a ring of entries
// of equal size, which hold the envelope and a small message's data; large messages go in parts
// through a ring of transporter buffers. The eager buffers that lie between the two there are
// not modelled.
//
// # Channels
//
// The buffers for one sender are a channel (channel.go): a segment that the receiver exports and
// the sender imports when it has something to send. The sender's processor stores a message into
// the next slot of the ring under a sequence, and repeats that until the sequence says that all has
// arrived. Then it sets the slot's flag to the number of the message. The receiver looks for the next number in
// each channel, copies, and counts what it has taken; the count goes back to the sender in
// quarters of the ring.
//
// A message that fits a slot is sent at once (eager). Of a longer one the envelope is; when a
// receive has matched it the receiver grants it, and the sender brings it, part by part, through
// the transporter buffers, by PIO, or from some size on by DMA (transporter.go). The receiver
// copies every part out, as no user's buffer can be an SCI segment.
//
// # Imports
//
// A rank has a limited number of segments imported (imports.go). For every transfer it looks for
// the import and takes it. If there is none the rank connects and maps the segment, and gives up
// the import that was not used for the longest time: Su's "imports on demand", with its start-up
// cost per transfer.
//
// # What software costs
//
// The machine file (machines/scampi.machine, [Profile]) has the times of the library's steps:
// each MPI call, request objects, envelopes, each entry of a matching queue, each channel that
// the progress engine scans, each request that MPI_Testsome looks at, each import that is taken.
// They are charged where the steps happen. A post is a call of MPI_Isend or MPI_Irecv, and every
// call of Progress ends with an MPI_Testsome over all requests that are under way.
package scampi
