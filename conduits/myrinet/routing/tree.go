package routing

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
)

// Tree is the breadth-first spanning tree of a topology's switches, which makes one end of each link the up end.
type Tree struct {
	Root   int
	Level  []int // of each switch; -1: not reached from the root
	Parent []int // link of each switch to the one above; -1: none
	depth  []int // as Level; what is not reached from the root has trees of its own, by which its links have up ends too
	t      *fabric.Topology
}

// NewTree returns the tree with a root. Links are taken in the order of the ports, those of a switch with a lower
// number first.
func NewTree(t *fabric.Topology, root int) (*Tree, error) {
	if root < 0 || root >= len(t.Switches) {
		return nil, fmt.Errorf("routing: switch %d cannot be the root; there are %d switches", root, len(t.Switches))
	}
	tree := &Tree{Root: root, Level: make([]int, len(t.Switches)), Parent: make([]int, len(t.Switches)),
		depth: make([]int, len(t.Switches)), t: t}
	for s := range tree.depth {
		tree.depth[s], tree.Parent[s] = -1, -1
	}
	cabling := t.Cabling()
	tree.grow(cabling, root)
	copy(tree.Level, tree.depth)
	for s := range tree.depth {
		if tree.depth[s] < 0 {
			tree.grow(cabling, s)
		}
	}
	return tree, nil
}

// grow finds all switches that are reached from one.
func (tree *Tree) grow(cabling *fabric.Cabling, root int) {
	t := tree.t
	tree.depth[root] = 0
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		for p := range t.Switches[s].Ports {
			link := cabling.Link(fabric.SwitchEnd(s, p))
			if link < 0 {
				continue
			}
			if e := t.Links[link].Other(fabric.SwitchEnd(s, p)); !e.Host && tree.depth[e.Index] < 0 {
				tree.depth[e.Index], tree.Parent[e.Index] = tree.depth[s]+1, link
				queue = append(queue, e.Index)
			}
		}
	}
}

// Up reports whether a packet that goes from one switch to another goes up.
func (tree *Tree) Up(from, to int) bool {
	if a, b := tree.depth[from], tree.depth[to]; a != b {
		return b < a
	}
	return to < from
}

// Legal reports whether the channels of a leg never go up after down.
func (tree *Tree) Legal(leg []int) bool {
	down := false
	for _, c := range leg {
		from, to := Ends(tree.t, c)
		if from.Host || to.Host {
			continue
		}
		up := tree.Up(from.Index, to.Index)
		if up && down {
			return false
		}
		down = down || !up
	}
	return true
}

// Center returns the switch from which the others are nearest on average, the one with the lowest number of several.
// Switches that are not reached count as very far.
func Center(t *fabric.Topology) int {
	best, least := 0, -1
	for s := range t.Switches {
		tree, err := NewTree(t, s)
		if err != nil {
			panic(err) // s is a switch
		}
		sum := 0
		for _, l := range tree.Level {
			if l < 0 {
				l = len(t.Switches)
			}
			sum += l
		}
		if least < 0 || sum < least {
			best, least = s, sum
		}
	}
	return best
}

// Channels of a topology are numbered as those of a fabric: 2*link, and one more from the link's second end.

// Channel returns the number of the channel that begins at e, or -1.
func Channel(t *fabric.Topology, cabling *fabric.Cabling, e fabric.End) int {
	link := cabling.Link(e)
	if link < 0 {
		return -1
	}
	if t.Links[link].Ends[0] == e {
		return 2 * link
	}
	return 2*link + 1
}

// Ends returns where a channel begins and where it ends.
func Ends(t *fabric.Topology, channel int) (from, to fabric.End) {
	l := &t.Links[channel/2]
	return l.Ends[channel%2], l.Ends[1-channel%2]
}
