// Package abstract finds sockets by their names in the abstract namespace of UNIX sockets (unix(7)), which belongs to a network namespace: the kernel lists
// them to everybody, and forgets one when its last descriptor is closed.
package abstract

import (
	"os"
	"slices"
	"strings"
)

// Names returns the names, without @, that begin with the prefix, sorted, each once. It needs /proc.
func Names(prefix string) ([]string, error) {
	list, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	return find(string(list), prefix), nil
}

// find is Names of a list as the kernel writes it.
func find(list, prefix string) (names []string) {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if name, ok := strings.CutPrefix(fields[len(fields)-1], "@"); ok && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names) // connections have the name of who listens
}
