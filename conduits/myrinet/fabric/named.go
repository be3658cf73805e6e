package fabric

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Shapes are what Shape.Make takes besides the path of a file.
var Shapes = []string{"line:N", "ring:N", "mesh:NxM...", "torus:NxM...", "fat-tree:LEVELSxARITY", "random:N"}

// IsFile reports whether Make would read a file of that name: what has a colon is a shape.
func IsFile(name string) bool { return !strings.Contains(name, ":") }

// Make returns the topology of a name: one of Shapes with its numbers of switches, such as mesh:4x3, or the path of a file, which
// Read reads and of which nothing in s matters. The seed is that of random topologies.
func (s Shape) Make(name string, seed uint64) (*Topology, error) {
	if IsFile(name) {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("fabric: %w; shapes are %s", err, strings.Join(Shapes, ", "))
		}
		defer f.Close()
		return Read(name, f)
	}
	shape, sizes, _ := strings.Cut(name, ":")
	var n []int
	for word := range strings.SplitSeq(sizes, "x") {
		size, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("fabric: %q is no number of switches", word)
		}
		n = append(n, size)
	}
	switch {
	case shape == "line" && len(n) == 1:
		return s.Line(n[0])
	case shape == "ring" && len(n) == 1:
		return s.Ring(n[0])
	case shape == "mesh":
		return s.Mesh(n...)
	case shape == "torus":
		return s.Torus(n...)
	case shape == "fat-tree" && len(n) == 2:
		return s.FatTree(n[0], n[1])
	case shape == "random" && len(n) == 1:
		return s.Random(n[0], seed)
	}
	return nil, fmt.Errorf("fabric: %q is no shape; there are %s", name, strings.Join(Shapes, ", "))
}
