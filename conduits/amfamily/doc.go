// Package amfamily has what the early systems of the Active Message family share when they run as protocols in
// virtual time: messages and handlers, the rules for requests and replies, the wait of a process that polls, and the
// measurements by which the systems are compared. The systems themselves are in the packages below it, each with a
// model of the hardware that it was built for:
//
//   - am, the original Active Messages, on a parallel machine;
//   - hpam, on HP workstations with Medusa cards in an FDDI ring;
//   - ssam, on Sun workstations with SBA-100 cards at an ATM switch;
//   - amii, AM-II on UltraSPARCs with LANai 4 in a Myrinet.
//
// A [Node] is a process's end of such a system. All nodes of a program run the same [Image], so a message names its
// handler by the place in it. A node belongs to the proc of the kernel that [Run] has spawned for it; its methods are for
// that proc alone. A [Claimer] is a node for a layer above with a wait and rules of its own; package conduit makes conduits of such nodes.
package amfamily
