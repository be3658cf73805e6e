package coll

import (
	"cmp"
	"math"
	"math/bits"
	"reflect"
	"slices"
)

// Timing is what a call of a team took.
type Timing struct {
	Op     Op
	N      int // members of the team
	Bytes  int // Call.Bytes
	Choice Choice
	Ns     float64 // nanoseconds of one call
}

// Parameters worth trying, ascending.
var (
	radices  = []int{2, 4, 8}
	segments = []int{16 << 10, defaultSegment, 256 << 10}
)

// Choices returns what can carry out a call, with the parameters that are worth trying for
// it: the default table's choice first, then the others in the order of Algorithms, but none
// that comes to the same schedules as one before it. Members get equal lists.
func Choices(c *Call) []Choice {
	var all []Choice
	if present, ok := Default().Choose(c); ok {
		all = append(all, present)
	}
	for _, a := range Algorithms(c.Op) {
		if !a.Applies(c) {
			continue
		}
		params := []int{0}
		switch a.Param {
		case Radix:
			params = radices
		case Segment:
			params = segments
		}
		for _, k := range params {
			all = append(all, Choice{a, k})
		}
	}
	var known [][]*Schedule
	return slices.DeleteFunc(all, func(choice Choice) bool {
		s := schedules(c, choice)
		same := func(other []*Schedule) bool { return reflect.DeepEqual(s, other) }
		if slices.ContainsFunc(known, same) {
			return true
		}
		known = append(known, s)
		return false
	})
}

// schedules returns the schedules of all members of a call that the choice applies to.
func schedules(c *Call, choice Choice) []*Schedule {
	all := make([]*Schedule, c.N)
	for i := range all {
		member := *c
		member.Self, member.InPlace = i, false
		all[i], _ = Build(&member, choice) // nil for all members if the call is none
	}
	return all
}

// near is how much more than the fastest a choice may take that is preferred for other
// reasons: less is no difference that a machine shows again.
const near = 1.05

// Tune returns this table changed by timings of commuting calls, of teams of one kind; AllTeams are those of neither of
// the other kinds. A timing stands for teams of at most as many members, but more than the next smaller number that was
// timed, and for sizes up to the geometric mean of its size and the next larger one. Other calls keep their choices: of
// larger teams and sizes, of operations not timed, and, after timings of AllTeams, of teams with reach. Timings with reach
// say enough of teams without, because what is sent goes the same way in both. Lines for teams of several hosts are changed
// by timings of such alone.
//
// Of choices within 5 % of the fastest one is preferred: the choice of the next smaller size;
// else, with reach, the choice of calls without; else the present one; else the first of
// Algorithms. A line whose algorithm does not apply to
// all calls that it fits is followed by one whose does.
func (t *Table) Tune(teams Teams, timings []Timing) *Table {
	tuned := new(Table)
	for op := Barrier; op < ScatterV; op++ {
		old := &Table{slices.DeleteFunc(slices.Clone(t.lines), func(l line) bool { return l.op != op })}
		of := slices.DeleteFunc(slices.Clone(timings), func(x Timing) bool { return x.Op != op })
		if len(of) == 0 {
			tuned.lines = append(tuned.lines, old.lines...)
			continue
		}
		var lines []line
		for _, l := range old.lines {
			switch {
			case teams != HostsTeams && l.teams == HostsTeams:
				lines = append(lines, l)
			case teams == AllTeams:
				l.teams = ReachTeams
				lines = append(lines, l)
			}
		}
		lines = append(lines, old.tune(teams, of)...)
		tuned.lines = append(tuned.lines, simplify(append(lines, old.lines...))...)
	}
	return tuned
}

// tune returns the lines of one operation that timings make, smaller teams and sizes first.
func (t *Table) tune(teams Teams, timings []Timing) (lines []line) {
	slices.SortStableFunc(timings, func(a, b Timing) int {
		return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Bytes, b.Bytes), compare(a.Choice, b.Choice))
	})
	var with, without []Choice // of the next smaller size
	for i, j := 0, 0; i < len(timings); i = j {
		first := &timings[i]
		for j = i; j < len(timings) && timings[j].N == first.N && timings[j].Bytes == first.Bytes; {
			j++
		}
		l := line{op: first.Op, members: first.N, bytes: first.Bytes}
		switch {
		case first.Op == Barrier:
			l.bytes = -1
		case j < len(timings) && timings[j].N == first.N:
			l.bytes = int(math.Sqrt(float64(first.Bytes) * float64(timings[j].Bytes)))
		}
		if i > 0 && timings[i-1].N != first.N {
			with, without = nil, nil
		}
		if teams == HostsTeams {
			with = t.choose(timings[i:j], HostsTeams, with)
			l.teams = HostsTeams
			lines = l.by(lines, with)
			continue
		}
		without = t.choose(timings[i:j], AllTeams, without)
		if teams == ReachTeams {
			with = t.choose(timings[i:j], ReachTeams, slices.Concat(with, without))
		}
		if teams == ReachTeams && !slices.Equal(with, without) {
			l.teams = ReachTeams
			lines = l.by(lines, with)
			l.teams = AllTeams
		}
		lines = l.by(lines, without)
	}
	return lines
}

// by appends the line with each of the choices.
func (l line) by(lines []line, choices []Choice) []line {
	for _, c := range choices {
		l.choice = c
		lines = append(lines, l)
	}
	return lines
}

// compare orders choices of an operation as Algorithms does.
func compare(a, b Choice) int {
	all := Algorithms(a.Algorithm.Op)
	return cmp.Or(cmp.Compare(slices.Index(all, a.Algorithm), slices.Index(all, b.Algorithm)), cmp.Compare(a.K, b.K))
}

// choose returns the best of the timings of one kind of call, and, unless that applies to
// all calls that they stand for, the best that does.
func (t *Table) choose(timings []Timing, teams Teams, preferred []Choice) (best []Choice) {
	first := &timings[0]
	easy := Call{Op: first.Op, N: first.N, Bytes: first.Bytes, Elem: 1, Commutes: true, Reach: teams == ReachTeams, ShmLimit: math.MaxInt}
	hard := easy
	if hard.Commutes = false; hard.N > 2 {
		hard.N = 3 // no power of two
	}
	if teams == HostsTeams {
		easy.Hosts, hard.Hosts = pairs(easy.N), alternate(hard.N)
	}
	for _, c := range []Call{easy, hard} {
		if len(best) > 0 && best[0].Algorithm.Applies(&c) {
			break
		}
		if choice, ok := t.fastest(timings, &c, preferred); ok {
			best = append(best, choice)
		}
	}
	return best
}

// pairs and alternate return hosts of n members: whose members are consecutive, and are not. nil: there are none of n.
func pairs(n int) *Hosts     { return NewHosts(n, func(m int) int { return m / 2 }) }
func alternate(n int) *Hosts { return NewHosts(n, func(m int) int { return m % 2 }) }

// fastest returns the fastest choice that applies to a call, or one that is preferred to it.
func (t *Table) fastest(timings []Timing, c *Call, preferred []Choice) (Choice, bool) {
	timings = slices.DeleteFunc(slices.Clone(timings), func(x Timing) bool { return !x.Choice.Algorithm.Applies(c) })
	if len(timings) == 0 {
		return Choice{}, false
	}
	least := slices.MinFunc(timings, func(a, b Timing) int { return cmp.Compare(a.Ns, b.Ns) }).Ns
	var good []Choice
	for _, x := range timings {
		if x.Ns <= near*least {
			good = append(good, x.Choice)
		}
	}
	present, _ := t.Choose(c)
	for _, p := range append(slices.Clone(preferred), present) {
		if slices.Contains(good, p) {
			return p, true
		}
	}
	return good[0], true
}

// simplify leaves out lines of one operation without which every call is still carried out
// by the same algorithms.
func simplify(lines []line) []line {
	calls := probes(lines)
	want := make([]Choice, len(calls))
	t := Table{lines}
	for i := range calls {
		want[i], _ = t.Choose(&calls[i])
	}
	needless := func(i int) bool {
		without := Table{slices.Delete(slices.Clone(t.lines), i, i+1)}
		for k := range calls {
			if got, _ := without.Choose(&calls[k]); got != want[k] {
				return false
			}
		}
		return true
	}
	for before := -1; before != len(t.lines); {
		before = len(t.lines)
		for i := before - 1; i >= 0; i-- {
			if needless(i) {
				t.lines = slices.Delete(t.lines, i, i+1)
			}
		}
	}
	return t.lines
}

// probes returns a call of every kind that lines of one operation tell apart: of a team of a
// power of two and of no power of two for each range of members, and just above each bound
// of sizes. Calls without bytes do nothing by any algorithm.
func probes(lines []line) (calls []Call) {
	members, bytes := []int{1, 2, 3}, []int{1}
	for _, l := range lines {
		if n := l.members; n > 0 {
			members = append(members, n+1, n+2, 1<<bits.Len(uint(n)))
		}
		if l.bytes >= 0 {
			bytes = append(bytes, l.bytes+1)
		}
	}
	for _, s := range [][]int{members, bytes} {
		slices.Sort(s)
	}
	for _, n := range slices.Compact(members) {
		for _, size := range slices.Compact(bytes) {
			for kind := range 8 {
				c := Call{
					Op: lines[0].op, N: n, Bytes: size, Elem: 1, ShmLimit: math.MaxInt,
					Reach: kind>>1 == 1, Commutes: kind&1 != 0,
				}
				switch kind >> 1 {
				case 2:
					c.Hosts = pairs(n)
				case 3:
					c.Hosts = alternate(n)
				}
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// legend stands at the top of a table in a file.
const legend = `# Which algorithm carries out which collective call: that of the first line that fits.
# members and bytes are upper bounds (bytes of a member's block, or of the vector that is
# broadcast or reduced), * for none. A line whose algorithm does not apply to a call is
# passed over: ring where the operator does not commute, doubling of AllGather in a team of
# no power of two. Lines for reach are for teams that share memory, lines for hosts for teams
# that do not, some of whose members share a host and others do not.
#
`

// File returns the table with an explanation, as tune.txt has it.
func (t *Table) File() string { return legend + t.String() }
