package binding

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Read returns where the CPUs lie that this process may use, which are numbered by allowed, as sched_getaffinity(2)
// tells: so limits of cgroups count, and CPUs that are offline are not among them. sys is the folder
// /sys/devices/system (Documentation/admin-guide/cputopology.rst in Linux). What it does not tell, as in some
// sandboxes and virtual machines, is taken to be simple: a CPU is a core by itself, and all are in socket 0 and NUMA node 0.
func Read(sys fs.FS, allowed []int) (Machine, error) {
	if len(allowed) == 0 {
		return nil, errors.New("there is no CPU that this process may use")
	}
	node := make(map[int]int)
	lists, err := fs.Glob(sys, "node/node[0-9]*/cpulist")
	if err != nil {
		return nil, err
	}
	for _, name := range lists {
		number, err := strconv.Atoi(strings.TrimPrefix(path.Base(path.Dir(name)), "node"))
		if err != nil {
			continue // no node
		}
		cpus, err := readList(sys, name)
		if err != nil {
			return nil, err
		}
		for _, c := range cpus {
			node[c] = number
		}
	}
	m := make(Machine, len(allowed))
	for i, number := range allowed {
		c := CPU{Number: number, Core: number, Node: node[number]}
		dir := fmt.Sprintf("cpu/cpu%d/topology/", number)
		threads, err := readList(sys, dir+"core_cpus_list")
		if threads == nil && err == nil {
			threads, err = readList(sys, dir+"thread_siblings_list") // its name before Linux 5.3
		}
		if err != nil {
			return nil, err
		}
		if len(threads) > 0 {
			c.Core = threads[0]
		}
		if c.Socket, err = readNumber(sys, dir+"physical_package_id"); err != nil {
			return nil, err
		}
		m[i] = c
	}
	m.sort()
	return m, nil
}

// readText returns the text of a file, or "" if there is none.
func readText(sys fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(sys, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strings.TrimSpace(string(text)), err
}

// readList returns the numbers of a file, nil if there is none.
func readList(sys fs.FS, name string) ([]int, error) {
	text, err := readText(sys, name)
	if err != nil || text == "" {
		return nil, err
	}
	cpus, err := ParseList(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return cpus, nil
}

// readNumber returns the number of a file, 0 if there is none or the kernel does not know it, which it writes as -1.
func readNumber(sys fs.FS, name string) (int, error) {
	text, err := readText(sys, name)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no number", name, text)
	}
	return max(n, 0), nil
}
