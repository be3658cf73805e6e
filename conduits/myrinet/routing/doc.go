// Package routing finds ways through a Myrinet: it labels links by a spanning tree, computes up*/down* routes and
// minimal routes with in-transit hosts, and checks that packets on them cannot wait for each other in a circle. Its
// mapper finds out by probe packets what the network is, and distributes routes.
//
// # up*/down*
//
// Each link has an up end: that whose switch is nearer to the root of a breadth-first spanning tree, or the one
// with the lower number if both are as near. A legal way never goes up after it has gone down. So packets cannot
// wait for each other in a circle; but ways are longer than they need be, and many lead past the root.
//
// # In-transit buffers
//
// A host of a switch at which a way would go up after down can take the packet out of the network and send it
// again (Coll et al., "A first implementation of In-Transit Buffers on Myrinet GM software"). Such a way is of
// several legs, each of them legal, and what a leg holds does not wait for what the next one needs, as long as
// the host has room.
package routing
