package colltest

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Naive returns what a call leaves in every member's destination, nil where that is
// undefined, from the sources of all: the meaning of the operations, in the plainest words.
func Naive(c *coll.Call, src [][]byte, combine func(dst, src []byte)) [][]byte {
	dst := make([][]byte, c.N)
	var all []byte // the sources, or what has been combined of them
	for i, s := range src {
		if c.Op == coll.ExScan && i > 0 {
			dst[i] = slices.Clone(all)
		}
		if isReduction(c.Op) && i > 0 {
			combine(all, s)
		} else {
			all = append(all, s...)
		}
		if c.Op == coll.Scan {
			dst[i] = slices.Clone(all)
		}
	}
	for i := range dst {
		switch c.Op {
		case coll.Broadcast:
			dst[i] = src[c.Root]
		case coll.Scatter:
			dst[i] = src[c.Root][i*c.Bytes:][:c.Bytes]
		case coll.AllGather, coll.AllReduce:
			dst[i] = all
		case coll.Gather, coll.Reduce:
			if i == c.Root {
				dst[i] = all
			}
		case coll.AllToAll:
			for _, s := range src {
				dst[i] = append(dst[i], s[i*c.Bytes:][:c.Bytes]...)
			}
		}
	}
	return dst
}

func isReduction(op coll.Op) bool {
	return op == coll.Reduce || op == coll.AllReduce || op == coll.Scan || op == coll.ExScan
}
