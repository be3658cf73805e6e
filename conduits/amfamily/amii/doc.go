// Package amii is Active Messages II on modelled hardware: UltraSPARCs with LANai 4 on SBus, in a Myrinet. The protocol is the state
// machine of package am2, which runs on the NIC here: one [am2.Bundle] for each endpoint. This package has what is around
// it: the firmware with its DMA engines, endpoint frames and their paging, staging areas, and the library on hosts.
// docs/am-family.md says what is modelled at which grain, and how that compares with what was published.
//
// # Objects
//
// A [Cluster] is hosts at a fabric, each with a NIC and a driver. [Host.Open] makes an endpoint: a process that has a [am2.Tag], a
// translation table of remote endpoints with the tags of messages to them, handlers, and a segment in memory. [Cluster.Agent] is the name
// agent, by which endpoints find each other; [Cluster.Program] makes a virtual network of one endpoint for each host, which is what a
// parallel program has. An [Endpoint] is an [amfamily.Node]: it runs in a proc of the kernel.
//
// # Endpoints in the NIC
//
// An endpoint's queues are in a frame of the NIC's SRAM, and there are few frames. The frames are a cache: the driver pages endpoints in,
// and those out that were used least recently. A process that uses an endpoint that is not resident faults, and waits; a packet for
// one is dropped and not acknowledged, the NIC interrupts its host, and the sender sends the packet again. An endpoint is paged out
// when nothing of it is under way; one that is to go takes no more requests until it comes back. What is under way may be for
// an endpoint that waits for a frame itself: so an endpoint goes after am2.longest in any case, stays away for once or twice that time, and
// sends again what has not been acknowledged.
//
// # Messages
//
// Up to 8 words cross the bus into the frame by the processor, and so do mediums of up to am2.medium bytes, which have a packet of their
// own. Longer payloads are bulk: the sender copies them into its staging area, and the NIC fetches them in fragments of
// am2.fragment bytes. What arrives with a payload goes to the receiver's staging area by DMA, before it is acknowledged. The handler of a message is
// given the staging area itself, but what is for a segment is copied there. The DMA engines move bytes between host and SRAM or SRAM and
// network, never through: every packet is stored and forwarded in either NIC. The firmware serves endpoints by weighted
// round robin, packet by packet.
//
// # Waiting
//
// A process polls, or sleeps ([Endpoint.Sleep]): then the NIC interrupts the host when something comes.
package amii
