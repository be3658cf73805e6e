// Package am2 is Active Messages II (Mainwaring and Culler, Berkeley) as a pure state machine:
// datagrams and times go in, datagrams and deliveries come out. It knows no socket, no clock
// and no other package of the project; whoever drives a [Bundle] receives for it, sends what
// it hands to a [Wire], seals the datagrams, and makes its calls one at a time. Equal calls
// have equal results, to the byte.
//
// # Objects
//
// An [Endpoint] is a virtual network interface. It has a [Tag], which messages for it must
// match; a translation table, which maps indices to the [Name] of a remote endpoint and the
// tag of messages to it; and a [Handler]. A bundle holds the endpoints behind one socket and
// serves them by weighted round robin.
//
// Two endpoints that have exchanged packets share a channel. It has four queues in either
// process: requests and replies, sent and received. Requests, and replies, of one direction
// form a lane, which numbers its packets on its own. So replies and acknowledgements get
// through whatever becomes of requests, and a handler that replies never waits: a request is
// delivered only if there is room for a reply of any size. A peer is a remote process; its
// channels share what is known of the path.
//
// # Messages and packets
//
// A message is a record (record.go) and shares a packet with others of its lane (packet.go).
// The first one leaves when it is committed. While packets of the lane are unacknowledged,
// more messages gather in the open packet. It leaves when it is full, when a Service has come
// without a Commit since the one before, or when it is Config.Gather old; replies leave with
// the next Service. A reservation that is not committed holds nothing up: what was committed
// before it moves to another packet.
//
// What does not fit a packet is bulk: fragments, a packet each, whose bodies are sent from
// the payload itself, be it lent or staged. The receiver stores them as they come, a Long's
// straight in the place that the handler names, a Medium's in a buffer. Delivery follows the
// last.
//
// # Delivery
//
// Messages are delivered exactly once, in no promised order. A lane takes every packet inside
// its window that it has not had, as bitmaps tell. What cannot be delivered at once is kept
// and acknowledged, so a program that computes holds nobody's timers up; a full store drops
// packets unacknowledged, and its acknowledgements tell a room of 0.
//
// A channel has Config.Depth credits for requests. Every packet tells how many requests have
// been handled, all together, replied to or not. A peer that keeps silent about that is
// probed, because an acknowledgement that told it may be lost.
//
// # Loss
//
// Every datagram tells which packets of either lane have come, up to a gap. It also echoes
// the stamp of the newest datagram with the time since that came, so retransmissions do not
// disturb the estimate of the round trip (rtt.go). An acknowledgement of its own goes out
// when two packets are unacknowledged at the end of a Service, or eight in the middle of a bulk on a
// path of 1 ms or more, when packets are out of order, repeated or dropped, or after
// Config.AckDelay; it also tells what was received beyond the gap. A request that is replied to in
// the poll that delivers it costs one packet each way.
//
// A packet is lost if one that was sent so much later has arrived that it was not just overtaken
// (RACK, RFC 8985; service.go). What was found lost too early shows by the echoed stamps: the
// acknowledgement came before any datagram sent as late as the copy had arrived (Eifel, RFC
// 3522). Then more is waited for. A time-out finds nothing lost. It has the oldest packet sent
// again, whose acknowledgement tells of the others (RFC 9002, section 6.2), so nothing needs to
// be undone if it was too early. BBR limits what is on its way to a peer, and when it leaves
// (path.go). It takes no loss for a full queue unless round trips are long, too.
//
// # Return to sender
//
// A packet whose tag does not match, or whose endpoint is not there, is refused for good: its
// sender is told as often as it sends it, and gets the messages back by Handler.Returned. It
// tells in later packets below which number nothing is unsettled, so that the receiver can
// pass over what it has refused. Messages also come back when the peer is unreachable: when
// nothing was heard of it for Config.Unreachable of trying, or over Config.Retries
// transmissions of one packet, whichever is first. A peer that computes is heard of.
//
// # HPAM
//
// With Config.ReplyAcks the protocol is that of HPAM, the first active messages on a network
// of workstations; see [HPAM].
package am2
