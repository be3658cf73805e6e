// Package link is the network of live Myrinet: rings in shared memory, and the ends of hosts' links on them.
//
// # What is real
//
// Each host has a NIC that one goroutine drives, and a ring in shared memory from each host that sends to it. The port that sends a packet
// walks its route bytes through the switches of the topology, as the switches of package fabric do, and deposits what is left of the packet in the
// ring of the host where the route ends. A packet with a byte that is no route byte, or for a port without a cable, is dropped and counted.
package link
