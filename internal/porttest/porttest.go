// Package porttest has ports for tests.
package porttest

import (
	"fmt"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// Reserve returns an address of the loopback, host:port, at which who is told it may listen, as often as it likes. Nothing listens there
// yet, and until the test ends the kernel gives the port to nobody who wants any: a socket is bound to it that does not listen, which
// keeps nobody from listening that sets SO_REUSEADDR, as package net does.
func Reserve(t testing.TB) string {
	t.Helper()
	_, at := bound(t)
	return at
}

// Dead returns an address of the loopback, host:port, at which nobody answers: who connects there waits, as for a host that is out of reach. The
// kernel drops what comes for a socket that listens and has no room for another connection.
func Dead(t testing.TB) string {
	t.Helper()
	fd, at := bound(t)
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", at) // takes the room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return at
}

// bound returns a socket that is bound to a port of the loopback, and its address.
func bound(t testing.TB) (fd int, address string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, fmt.Sprint("127.0.0.1:", at.(*unix.SockaddrInet4).Port)
}
