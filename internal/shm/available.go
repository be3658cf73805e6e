package shm

import (
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Available returns how many bytes this process could still use: what the kernel thinks
// is available without swapping, or less if the control group of this process, or any
// group above it that can be seen from here, has less left. File cache that can be
// dropped counts as available in both.
//
// It is a snapshot; other processes, ranks of the same job among them, draw on the same
// memory.
func Available() (bytes uint64, err error) { return availableIn("/") }

func availableIn(root string) (uint64, error) {
	free, err := memAvailable(root)
	if err != nil {
		return 0, fmt.Errorf("shm: how much memory is available: %w", err)
	}
	for _, g := range memoryGroups(root) {
		free = min(free, g.left())
	}
	return free, nil
}

// memAvailable reads the kernel's estimate from /proc/meminfo.
func memAvailable(root string) (uint64, error) {
	name := filepath.Join(root, "proc/meminfo")
	kib, ok := field(name, "MemAvailable:")
	if !ok {
		return 0, fmt.Errorf("no MemAvailable in %s", name)
	}
	return kib << 10, nil
}

// group is a directory of a mounted control group hierarchy.
type group struct {
	dir   string
	files *groupFiles
}

// groupFiles names what tells the memory of a control group. Above memory.high the kernel
// ends nobody but slows everybody down to nothing, so it counts as a limit.
type groupFiles struct {
	limits []string // bytes, or "max"
	usage  string   // bytes, file cache included
	cache  string   // the field of memory.stat with the cache that can be dropped at once
}

var (
	groupV1 = &groupFiles{[]string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"}
	groupV2 = &groupFiles{[]string{"memory.max", "memory.high"}, "memory.current", "inactive_file"}
)

// left returns what the group has left; a group without limits or without readable
// files (the root group has none) limits nothing.
func (g group) left() uint64 {
	limit := uint64(math.MaxUint64)
	for _, f := range g.files.limits {
		if n, ok := number(filepath.Join(g.dir, f)); ok {
			limit = min(limit, n)
		}
	}
	used, ok := number(filepath.Join(g.dir, g.files.usage))
	if !ok {
		return math.MaxUint64
	}
	cache, _ := field(filepath.Join(g.dir, "memory.stat"), g.files.cache)
	used -= min(used, cache)
	return limit - min(limit, used)
}

// memoryGroups returns this process's control groups that can limit memory, in either
// version of the interface, from its own up to the top of what is mounted here.
func memoryGroups(root string) (gs []group) {
	paths := groupPaths(root)
	for line := range lines(filepath.Join(root, "proc/self/mountinfo")) {
		// proc(5): id, parent, device, root, mount point, options, optional fields, "-",
		// type, source, options of the file system
		mount, fs, ok := strings.Cut(line, " - ")
		m, f := strings.Fields(mount), strings.Fields(fs)
		if !ok || len(m) < 6 || len(f) < 3 {
			continue
		}
		var files *groupFiles
		var path string
		switch {
		case f[0] == "cgroup2":
			files, path = groupV2, paths[""]
		case f[0] == "cgroup" && hasWord(f[2], "memory"):
			files, path = groupV1, paths["memory"]
		default:
			continue
		}
		// Inside a container the mount may show only part of the hierarchy, named by its
		// root, or a part that does not hold this process's path; then its top is ours.
		below, inside := strings.CutPrefix(path, strings.TrimSuffix(m[3], "/"))
		if !inside || below != "" && below[0] != '/' || strings.HasPrefix(below, "/..") {
			below = ""
		}
		for {
			gs = append(gs, group{filepath.Join(root, m[4], below), files})
			if below == "" || below == "/" {
				break
			}
			below = filepath.Dir(below)
		}
	}
	return gs
}

// groupPaths reads this process's place in each hierarchy: by controller, and under ""
// in the unified one.
func groupPaths(root string) map[string]string {
	paths := map[string]string{}
	for line := range lines(filepath.Join(root, "proc/self/cgroup")) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			for c := range strings.SplitSeq(f[1], ",") {
				paths[c] = f[2]
			}
		}
	}
	return paths
}

// lines yields the lines of a small file, or nothing if it cannot be read.
func lines(name string) iter.Seq[string] {
	b, err := os.ReadFile(name)
	if err != nil {
		return strings.Lines("")
	}
	return strings.Lines(string(b))
}

// number reads a file that holds one number.
func number(name string) (uint64, bool) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// field reads the number that follows a word at the beginning of a line.
func field(name, word string) (uint64, bool) {
	for line := range lines(name) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == word {
			n, err := strconv.ParseUint(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func hasWord(list, word string) bool {
	return slices.Contains(strings.Split(list, ","), word)
}
