package core

import (
	"encoding/binary"
	"math/bits"
	"runtime"

	"golang.org/x/sys/unix"
)

// cpuMask appends which CPUs this process may run on, a bit each.
func cpuMask(b []byte) []byte {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return b // unknown: all that are counted are those of others
	}
	last := len(set) - 1
	for last >= 0 && set[last] == 0 {
		last--
	}
	for _, w := range set[:last+1] {
		b = binary.LittleEndian.AppendUint64(b, uint64(w))
	}
	return b
}

// crowded reports whether the ranks of this host outnumber the CPUs that they may run on,
// by their masks. A rank that waits then keeps others, and maybe the one it waits for, from
// running.
func (j *Job) crowded(mask func(Rank) []byte) bool {
	if j.proc != nil {
		return false
	}
	ranks := j.boot.Local()
	differ := ranks
	if j.local { // all in this process
		differ = []Rank{j.rank}
	}
	var all [len(unix.CPUSet{})]uint64
	for _, r := range differ {
		m := mask(r)
		for i := range min(len(all), len(m)/8) {
			all[i] |= binary.LittleEndian.Uint64(m[8*i:])
		}
	}
	cpus := 0
	for _, w := range all {
		cpus += bits.OnesCount64(w)
	}
	if j.local {
		cpus = min(cpus, runtime.GOMAXPROCS(0))
	}
	return cpus > 0 && len(ranks) > cpus
}
