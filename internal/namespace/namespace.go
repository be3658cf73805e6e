// Package namespace tells the namespaces of processes apart, also those of other hosts.
package namespace

import (
	"fmt"
	"os"
	"strings"
)

// Names returns a text that differs among the namespaces of all hosts, and is the same for processes that are in the same ones of these kinds, such as
// "net" (namespaces(7)). The kernel has its part in it by its boot. It needs /proc.
func Names(kinds ...string) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("which host this is: %w", err)
	}
	names := "boot " + strings.TrimSpace(string(boot))
	for _, kind := range kinds {
		link, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return "", fmt.Errorf("which host this is: %w", err)
		}
		names += " " + link
	}
	return names, nil
}
