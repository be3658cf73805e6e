package coll

import (
	"fmt"
	"strconv"
	"strings"
)

// Param says what an algorithm's parameter is.
type Param uint8

const (
	None    Param = iota
	Radix         // children per level of a tree, or signals per round and one; at least 2
	Segment       // bytes of a piece of the vector; at least 1
)

// Parameters of algorithms that are named without one. A segment should be much smaller
// than a second-level cache, so that readers find it in a cache, and much larger than what
// a core copies in the time of a signal.
const (
	defaultRadix   = 2
	defaultSegment = 64 << 10
)

// Algorithm is a way to carry out an operation.
type Algorithm struct {
	Name  string
	Op    Op
	Param Param
	ok    func(*Call) bool // nil: for any call
	build func(c *Call, k int, b *Builder)
}

var algorithms = []Algorithm{
	{"dissemination", Barrier, Radix, nil, dissemination},
	{"linear", Barrier, None, nil, linearBarrier},

	{"flat", Broadcast, None, nil, broadcastFlat},
	{"knomial", Broadcast, Radix, nil, broadcastTree},
	{"chain", Broadcast, Segment, nil, broadcastChain},
	{"scatter", Broadcast, None, nil, broadcastScatter},
	{"direct", Broadcast, Segment, direct(slots(2)), broadcastDirect},

	{"flat", Reduce, None, nil, reduceFlat},
	{"knomial", Reduce, Radix, nil, reduceTree},
	{"scatter", Reduce, None, nil, reduceScatter},
	{"direct", Reduce, Segment, direct(slots(2)), reduceDirect},

	{"flat", AllReduce, None, nil, allReduceFlat},
	{"doubling", AllReduce, None, nil, allReduceDoubling},
	{"halving", AllReduce, None, nil, allReduceHalving},
	{"ring", AllReduce, None, commutes, allReduceRing},
	{"pairwise", AllReduce, None, nil, allReducePairwise},
	{"knomial", AllReduce, Radix, nil, allReduceTree},
	{"direct", AllReduce, Segment, direct(slots(2)), reduceDirect},
	{"direct-all", AllReduce, Segment, direct(slots(2)), allReduceDirectAll},

	{"flat", Scatter, None, nil, scatterFlat},
	{"knomial", Scatter, Radix, nil, scatterTree},

	{"flat", Gather, None, nil, gatherFlat},
	{"knomial", Gather, Radix, nil, gatherTree},

	{"flat", AllGather, None, nil, allGatherFlat},
	{"ring", AllGather, None, nil, allGatherRing},
	{"bruck", AllGather, None, nil, allGatherBruck},
	{"doubling", AllGather, None, powerOfTwo, allGatherDoubling},
	{"direct", AllGather, Segment, direct(slots(2)), allGatherDirect},

	{"flat", AllToAll, None, nil, allToAllFlat},
	{"pairwise", AllToAll, None, nil, allToAllPairwise},
	{"bruck", AllToAll, None, nil, allToAllBruck},
	{"direct", AllToAll, Segment, direct(func(c *Call) int { return 2 * c.N }), allToAllDirect},

	{"flat", Scan, None, nil, scanFlat},
	{"chain", Scan, None, nil, scanChain},
	{"doubling", Scan, None, nil, scanDoubling},

	{"flat", ExScan, None, nil, scanFlat},
	{"chain", ExScan, None, nil, scanChain},
	{"doubling", ExScan, None, nil, scanDoubling},
}

func commutes(c *Call) bool   { return c.Commutes }
func powerOfTwo(c *Call) bool { return c.N&(c.N-1) == 0 }

// Algorithms returns the algorithms of an operation, for tuners and tests.
func Algorithms(op Op) []*Algorithm {
	var of []*Algorithm
	for i := range algorithms {
		if algorithms[i].Op == op {
			of = append(of, &algorithms[i])
		}
	}
	return of
}

// Applies reports whether the algorithm can carry out a call. It says the same to all
// members.
func (a *Algorithm) Applies(c *Call) bool {
	return a.Op == c.Op && (a.ok == nil || a.ok(c))
}

// Choice is an algorithm with its parameter.
type Choice struct {
	Algorithm *Algorithm
	K         int // the radix or the bytes of a segment; 0 where there is none
}

func (c Choice) String() string {
	if c.Algorithm.Param == None {
		return c.Algorithm.Name
	}
	return fmt.Sprintf("%s:%d", c.Algorithm.Name, c.K)
}

// parseChoice reads what Choice.String writes; a parameter may be left out.
func parseChoice(op Op, text string) (Choice, error) {
	name, param, given := strings.Cut(text, ":")
	var names []string
	for _, a := range Algorithms(op) {
		if a.Name != name {
			names = append(names, a.Name)
			continue
		}
		k, least := 0, 1
		switch a.Param {
		case Radix:
			k, least = defaultRadix, 2
		case Segment:
			k = defaultSegment
		}
		if !given {
			return Choice{a, k}, nil
		}
		if a.Param == None {
			return Choice{}, fmt.Errorf("%v %s has no parameter, but %q is given", op, name, param)
		}
		k, err := strconv.Atoi(param)
		if err != nil || k < least || k > paramMax {
			return Choice{}, fmt.Errorf("%v %s: parameter %q is no number from %d to %d", op, name, param, least, paramMax)
		}
		return Choice{a, k}, nil
	}
	return Choice{}, fmt.Errorf("%v has no algorithm %q; there are %s", op, name, strings.Join(names, ", "))
}

// paramMax keeps powers of a radix within an int.
const paramMax = 1 << 30

// Build returns this member's schedule of a call by an algorithm. Calls of one member, and
// calls that move no data, send no messages.
func Build(c *Call, choice Choice) (*Schedule, error) {
	var b Builder
	if err := b.Build(c, choice); err != nil {
		return nil, err
	}
	return b.Schedule(), nil
}

// Build appends this member's schedule of a call by an algorithm, as the function Build does
// to an empty one.
func (b *Builder) Build(c *Call, choice Choice) error {
	if err := c.check(); err != nil {
		return err
	}
	a := choice.Algorithm
	if !a.Applies(c) {
		return fmt.Errorf("coll: %v by %v does not apply to %+v", a.Op, choice, *c)
	}
	if a.Param == Radix && choice.K < 2 || a.Param == Segment && choice.K < 1 {
		return fmt.Errorf("coll: %v by %v: parameter out of range", a.Op, choice)
	}
	switch {
	case c.Op != Barrier && c.Bytes == 0:
	case c.N > 1:
		a.build(c, choice.K, b)
	case c.Op != Barrier && c.Op != ExScan:
		c.keep(b, c.all(Dst), c.all(Src))
	}
	return nil
}

// Choose returns the algorithm that is forced for a call, if it applies to it, or else the default table's. All members
// come to the same.
func Choose(c *Call, forced Forced) (Choice, error) {
	if choice, ok := forced[c.Op]; ok && choice.Algorithm.Applies(c) {
		return choice, nil
	}
	choice, ok := Default().Choose(c)
	if !ok {
		return choice, fmt.Errorf("coll: no algorithm for %v", c.Op)
	}
	return choice, nil
}

// Plan returns this member's schedule of a call, by the algorithm of Choose. The other members come to the same.
func Plan(c *Call, forced Forced) (*Schedule, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	choice, err := Choose(c, forced)
	if err != nil {
		return nil, err
	}
	return Build(c, choice)
}
