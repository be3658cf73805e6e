package vtime

// heap is a 4-ary min-heap: the children of i are 4i+1 to 4i+4. It is half as
// deep as a binary heap, and the children to compare lie side by side.
type heap []entry

const arity = 4

func (q *heap) push(e entry) {
	*q = append(*q, e)
	h := *q
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / arity
		if e.before(&h[parent]) == 0 {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// pop removes and returns the first entry of a heap that is not empty.
func (q *heap) pop() entry {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		child := arity*i + 1
		if child >= len(h) {
			break
		}
		child += leastOf(h[child:])
		if h[child].before(&last) == 0 {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return first
}

// leastOf returns which of up to four siblings at the start of h comes first.
func leastOf(h []entry) int {
	if len(h) >= arity {
		c := (*[arity]entry)(h)
		a := c[1].before(&c[0])     // 0 or 1
		b := 2 | c[3].before(&c[2]) // 2 or 3
		return int(a ^ (a^b)&-c[b].before(&c[a]))
	}
	least := 0
	for i := range h {
		if h[i].before(&h[least]) != 0 {
			least = i
		}
	}
	return least
}
