// Package tunnel makes network namespaces that reach each other through impaired links only,
// so that real sockets of real processes meet loss, reordering, delay and the like. It is for
// tests: all packets go through one thread of this process.
//
// Each node is a network namespace with a loopback interface and a TUN device of the same name
// everywhere, [Device], with the address [Address]. What the kernel routes into a TUN device
// this process reads, sends over an impair.Net, and writes into the device of the node that it
// is for. UDP payloads can be corrupted and truncated; lengths and checksums are put right
// again, or the kernel would drop such packets, and no socket see them. Of other packets all
// but that is done. Only IPv4 is carried.
//
// Namespaces and devices have no names outside and are held by descriptors alone: whatever
// ends this process, nothing of them is left when the processes inside have ended, too.
//
// Why a package of its own below impair: impair is pure and serves tests in virtual time, while
// this needs root and the kernel; and tests of the conduit use it without the command aqimpair.
package tunnel
