// Package transit has what control programs of NICs share of in-transit buffers: how a route of several legs is written in front of a
// packet, and what becomes of a packet at a host where a leg ends that is not the last. Coll, Flich, Malumbres, Lopez and Duato have
// proposed both, and built them into GM.
//
// A [Route] is a list of legs. [Transit] is the part of a program that looks at the first bytes of what comes, and sends packets in
// transit on: while they come, if the link is free.
package transit
