package coll

// node is a member of a tree of ranks 0 to n-1, with the subtree of size ranks from its own
// on.
type node struct{ rank, size int }

// knomial returns the parent of rank v (-1 for rank 0) and its children, by rank, in the
// k-nomial tree of n ranks: written to base k, a child has one more digit set below the
// lowest of its parent's. A subtree of a node is the ranks from it to its next sibling.
func knomial(v, n, k int) (parent, size int, children []node) {
	parent, size = -1, n-v
	for level := 1; level < n; level *= k {
		if digit := v / level % k; digit != 0 {
			return v - digit*level, min(level, n-v), children
		}
		for child := v + level; child < min(n, v+k*level); child += level {
			children = append(children, node{child, min(level, n-child)})
		}
	}
	return parent, size, children
}
