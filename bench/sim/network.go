package sim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// The bare network: ranks with a link each, messages that arrive a latency after they have
// left at the link's rate, nothing else. A message is a word, counted as 8 bytes.
const (
	latency  = vtime.Microsecond
	wordTime = 8 * vtime.Nanosecond // on a link of 1 GB/s
	pollCost = 5 * vtime.Nanosecond
)

// node is a rank of the bare network.
type node struct {
	proc *vtime.Proc
	free vtime.Time // of its link
	came []uint64   // words that nobody has taken, from the head-th on
	head int
}

// Fire implements vtime.Target: a word arrives.
func (x *node) Fire(word, _ uint64) {
	x.came = append(x.came, word)
	x.proc.Arrive()
}

// send has a word leave for dst when the link is free.
func (x *node) send(dst *node, word uint64) {
	x.free = max(x.free, x.proc.Now()) + wordTime
	x.proc.Kernel().At(x.free+latency, dst, word, 0)
}

// take waits for a word, in polls of pollCost. No time passes between the look and the Park,
// so that nothing can come unseen.
func (x *node) take() uint64 {
	for x.head == len(x.came) {
		x.proc.Park(pollCost)
	}
	x.proc.Charge(pollCost)
	word := x.came[x.head]
	if x.head++; x.head == len(x.came) {
		x.came, x.head = x.came[:0], 0
	}
	return word
}

// ring has every rank send to its right neighbour in every round.
func ring(ranks, n int) (speed, error) {
	return exchange(ranks, n, func(int) int { return 1 })
}

// allToAll has every rank send to the next one behind it in every round.
func allToAll(ranks, n int) (speed, error) {
	return exchange(ranks, n, func(round int) int { return 1 + round%(ranks-1) })
}

// exchange has ranks send about n messages in all: in every round one, so many ranks further,
// and then take one.
func exchange(ranks, n int, further func(round int) int) (speed, error) {
	k := vtime.New(1)
	nodes := make([]node, ranks)
	rounds := max(1, n/ranks)
	var sent, taken uint64 // sums of words
	for i := range nodes {
		x := &nodes[i]
		x.proc = k.Spawn("rank", func(*vtime.Proc) {
			for r := range rounds {
				word := uint64(i*rounds + r)
				sent += word
				x.send(&nodes[(i+further(r))%ranks], word)
				taken += x.take()
			}
		})
	}
	v, err := timed(rounds*ranks, k)
	if err == nil && sent != taken {
		err = fmt.Errorf("the words that were taken add up to %d, those sent to %d", taken, sent)
	}
	return v, err
}
