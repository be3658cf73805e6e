// Package porttest has ports for tests.
package porttest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// Reserve returns an address of the loopback, host:port, at which who is told it may listen, as often as it likes. Nothing listens there
// yet, and until the test ends the kernel gives the port to nobody who wants any: a socket is bound to it that does not listen, which
// keeps nobody from listening that sets SO_REUSEADDR, as package net does.
func Reserve(t testing.TB) string {
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
	return fmt.Sprint("127.0.0.1:", at.(*unix.SockaddrInet4).Port)
}
