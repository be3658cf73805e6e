// Package link is the network of live Myrinet: rings in shared memory, and the ends of hosts' links on them.
//
// # What a packet goes through
//
// Each host has a NIC that one goroutine drives, and a ring from each host that may send to it. The port that sends a packet walks its route bytes
// through the switches of the topology, as the switches of package fabric do, and deposits what is left of it in the ring of the host where the
// route ends: that may be any host, one in transit or the sender itself, and what the packet says behind its route plays no part. A packet with a byte that is
// no route byte, for a port without a cable, or that ends within its route is dropped and counted. There is no time on cables or in switches: a packet is
// there as a whole, and packets of different hosts do not meet on their ways.
//
// # Back-pressure
//
// A ring is bounded. A port whose packet finds no room keeps it, and is not idle until the packet has left: what is behind it waits, wherever it is bound for. A
// port takes one packet out of its rings, and no other until the NIC accepts or discards it. So a NIC that takes nothing in fills the rings to its host,
// and stops those that send to it, as in a network of slack buffers. Ring of [Config] wakes who drives a port after a packet has come, or room that
// its packet has waited for.
//
// # Damage
//
// A frame has a CRC-32C over what is to arrive and its length, where Myrinet has a CRC byte. The port that sends computes it, and the one that receives finds by it whether a packet
// is corrupt or truncated. [Errors] change bits of packets, cut them or lose them, on each cable that they cross. A packet that is sent on with a wrong CRC arrives
// with a wrong one.
//
// # Trust
//
// A ring may be shared with another process, which may be killed at any time or write anything. A producer publishes a frame as the last thing that it does, so what is
// left of one that was killed are whole frames. A consumer checks each word before it goes by it, and a port copies a frame before it looks at it: what else is in
// the memory is an error, which names the host, and nothing outside of the ring is touched.
package link
