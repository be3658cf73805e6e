// Package impair is an impaired wire: a link that loses, duplicates, reorders, corrupts,
// truncates and delays datagrams, with a rate and a queue, as its [Settings] say.
//
// A [Link] is one direction between two places and pure: [Link.Pass] is told the time and
// answers what arrives when. Its random numbers come from a seed alone, and each kind of
// fault draws its own, so that another probability of one leaves the others what they were.
// Equal calls give equal results in every run.
//
// A [Net] joins any number of addresses by links and keeps what is under way. It has a clock
// that its user moves, so it serves two purposes:
//
//   - in virtual time, as the sockets of a test: Until gives the next arrival, or says that
//     a timer of the test is due before it;
//   - in real time, in package tunnel, between TUN devices in network namespaces.
//
// # The way of a datagram
//
// What is longer than the link's MTU vanishes. Else it joins the queue, or is dropped when
// that is full, and takes its time on the line. Then it may be lost, or duplicated; each copy
// may be truncated, corrupted and held back, and arrives after the delay. Copies do not take
// the line's time, as those that a faulty switch makes behind it.
package impair
