package shm

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/namespace"
	"golang.org/x/sys/unix"
)

// HostIdentity names what processes have in common that may share memory, meet at sockets with a path and use one loopback:
// the kernel, by its boot; the namespaces of IPC, mounts, networks, processes and users; and the file system at /dev/shm,
// where libraries keep theirs. Two that have the same may still be kept apart, as by a security module. It needs /proc.
func HostIdentity() (string, error) {
	id, err := namespace.Names("ipc", "mnt", "net", "pid", "user")
	if err != nil {
		return "", err
	}
	var at unix.Stat_t
	if err := unix.Stat("/dev/shm", &at); err == nil {
		id += fmt.Sprintf(" shm:[%d]", at.Dev)
	}
	return id, nil
}
