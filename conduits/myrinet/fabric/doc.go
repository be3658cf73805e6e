// Package fabric models the network of Myrinet: hosts' ports, switches, and the cables between them, on a
// [vtime.Loop].
//
// # What is modelled
//
// A packet is a worm of bytes. Its first byte at a switch is a route byte, which names the output port and is
// consumed; the rest follows through that port, which belongs to the packet until its last byte has passed
// (wormhole switching). A packet whose output is taken waits with its head in the slack buffer of its input,
// and keeps all the channels that it has come through. A slack buffer that fills to its STOP threshold stops
// the sender at the other end of the cable, and one that empties to its GO threshold lets the sender go on.
// So back-pressure reaches the sending host.
//
// # Grain
//
// All of that is exact to the byte, but there is no event per byte. What passes a point is a stream: stretches
// of bytes at equal distances. The times of heads and tails, of thresholds that are crossed, and of senders
// that run dry follow from the streams by arithmetic. An event happens only where somebody has to decide: a switch or a
// host at a head, a sender at STOP and GO, and whoever waits for a tail.
// docs/myrinet-model.md says what is left out.
//
// # Units
//
// A byte counts as sent, arrived or taken when all of it has passed. The length of a packet on the wire has the
// CRC byte in it, which packets given to [Port.Inject] have not.
package fabric
