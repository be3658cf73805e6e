package shm

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// HostIdentity names what processes have in common that may share memory, meet at sockets with a path and use one loopback:
// the kernel, by its boot; the namespaces of IPC, mounts, networks, processes and users; and the file system at /dev/shm,
// where libraries keep theirs. Two that have the same may still be kept apart, as by a security module. It needs /proc.
func HostIdentity() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("which host this is: %w", err)
	}
	id := "boot " + strings.TrimSpace(string(boot))
	for _, ns := range []string{"ipc", "mnt", "net", "pid", "user"} {
		link, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			return "", fmt.Errorf("which host this is: %w", err)
		}
		id += " " + link
	}
	var at unix.Stat_t
	if err := unix.Stat("/dev/shm", &at); err == nil {
		id += fmt.Sprintf(" shm:[%d]", at.Dev)
	}
	return id, nil
}
