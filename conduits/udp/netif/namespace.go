package netif

import (
	"hash/fnv"

	"github.com/aqueduct-go/aqueduct/internal/namespace"
)

// Namespace returns a number that differs among the network namespaces of all hosts, as far as chance can tell, and
// stays the same while the host runs; 0 if that is not known.
func Namespace() uint64 {
	name, err := namespace.Names("net")
	if err != nil {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}
