package libmpi

import "encoding/binary"

// numberHosts returns the numbers of the ranks' hosts, given the lowest rank of each one's host.
func numberHosts(lowest [][]byte) []int {
	hosts, n := make([]int, len(lowest)), 0
	for r, b := range lowest {
		if first := int(binary.LittleEndian.Uint32(b)); first < r {
			hosts[r] = hosts[first]
		} else {
			hosts[r] = n
			n++
		}
	}
	return hosts
}
