package coll

import "slices"

// Hosts says which members of a team share a host, and so how a call can be done in two levels: within the hosts,
// and between them by one leader of each. It does not change; members of one process may share it.
type Hosts struct {
	of      []int32 // by member: its host
	members [][]int // by host, ascending; hosts in the order of their lowest members
	inOrder bool    // every host's members are consecutive
}

// NewHosts returns the hosts of n members, of which host gives any number that is the same for those that share
// one. It is nil if there are no two levels: all share a host, or none do.
func NewHosts(n int, host func(member int) int) *Hosts {
	h := &Hosts{of: make([]int32, n), inOrder: true}
	number := make(map[int]int32)
	for m := range n {
		i, known := number[host(m)]
		if !known {
			i = int32(len(h.members))
			number[host(m)] = i
			h.members = append(h.members, nil)
		}
		if known && h.of[m-1] != i {
			h.inOrder = false
		}
		h.of[m] = i
		h.members[i] = append(h.members[i], m)
	}
	if len(h.members) == 1 || len(h.members) == n {
		return nil
	}
	return h
}

// Count returns the number of hosts.
func (h *Hosts) Count() int { return len(h.members) }

// Of returns the number of a member's host.
func (h *Hosts) Of(member int) int { return int(h.of[member]) }

// Members returns the members on a host, ascending. The slice is the Hosts'.
func (h *Hosts) Members(host int) []int { return h.members[host] }

// block returns the members of a host as a piece of the team: the lowest, and whether all are consecutive.
func (h *Hosts) block(host int) (first int, whole bool) {
	m := h.members[host]
	return m[0], m[len(m)-1]-m[0] == len(m)-1
}

// twoLevels is the condition of algorithms in two levels.
func twoLevels(c *Call) bool { return c.Hosts != nil }

// twoLevelsInOrder is that of those which combine elements host by host: in the order of ranks, unless the operator
// commutes.
func twoLevelsInOrder(c *Call) bool { return c.Hosts != nil && (c.Commutes || c.Hosts.inOrder) }

// twoLevelsOfBlocks is that of those for which every host has consecutive members.
func twoLevelsOfBlocks(c *Call) bool { return c.Hosts != nil && c.Hosts.inOrder }

// level is one of two levels of a call: the members of this one's host, or the leaders of all hosts.
type level struct {
	c    *Call
	b    *Builder
	n    int           // members of the level
	at   func(int) int // by number in the level: the member of the call
	self int           // this one's number; -1: it is not in the level
}

// hostLevel returns the level of this member's host.
func (c *Call) hostLevel(b *Builder) *level {
	members := c.Hosts.members[c.Hosts.of[c.Self]]
	self, _ := slices.BinarySearch(members, c.Self)
	return &level{c, b, len(members), func(i int) int { return members[i] }, self}
}

// leaderLevel returns the level of the leaders, of which choose names one of a host's members.
func (c *Call) leaderLevel(b *Builder, choose func(members []int) int) *level {
	l := &level{c, b, c.Hosts.Count(), func(host int) int { return choose(c.Hosts.members[host]) }, -1}
	if l.leader() == c.Self {
		l.self = int(c.Hosts.of[c.Self])
	}
	return l
}

// lowest and highest name a leader.
func lowest(members []int) int  { return members[0] }
func highest(members []int) int { return members[len(members)-1] }

// rootOrLowest names the root, if it is on the host, as the leader.
func (c *Call) rootOrLowest(members []int) int {
	if c.Hosts.of[members[0]] == c.Hosts.of[c.Root] {
		return c.Root
	}
	return members[0]
}

// leader returns the leader of this member's host, of the level of leaders.
func (l *level) leader() int { return l.at(int(l.c.Hosts.of[l.c.Self])) }

// alone reports whether the level has one member.
func (l *level) alone() bool { return l.n == 1 }

// do carries out an operation among the level's members, by the default table's algorithm. Vectors or blocks have the
// length of from; root is the number in the level of who is its root. to and from are what Dst and Src stand for there; if
// they are equal, or the caller's own in a call in place, the operation is in place. Who is not in the level, or alone
// there, does nothing.
func (l *level) do(op Op, root int, to, from Span) {
	if l.self < 0 || l.alone() {
		return
	}
	c := *l.c
	c.Op, c.N, c.Self, c.Root, c.Bytes = op, l.n, l.self, root, from.Len
	c.Hosts, c.Reach, c.ShmLimit = nil, false, 0
	c.InPlace = to == from || l.c.InPlace && to.Buf == Dst && from.Buf == Src
	choice, _ := Default().Choose(&c) // the last line of every operation fits any call
	l.b.within = &frame{l.at, to, from}
	choice.Algorithm.build(&c, choice.K, l.b)
	l.b.within = nil
}

// number returns the number in the level of a host of one of its members.
func (l *level) number(member int) int {
	i, _ := slices.BinarySearch(l.c.Hosts.members[l.c.Hosts.of[member]], member)
	return i
}

// host returns the number of a member's host, which is that of its leader among the leaders.
func (c *Call) host(member int) int { return int(c.Hosts.of[member]) }

// frame says what the peers and the buffers of an operation stand for that is a part of another one.
type frame struct {
	member   func(peer int) int
	dst, src Span
}

// of returns what a span of the part stands for. Scratch is that of the whole.
func (f *frame) of(s Span) Span {
	switch {
	case f == nil || s.Buf == Tmp:
		return s
	case s.Buf == Dst:
		return f.dst.Part(s.Off, s.Len)
	}
	return f.src.Part(s.Off, s.Len)
}

// peer returns the member that a peer of the part is.
func (f *frame) peer(i int) int {
	if f == nil {
		return i
	}
	return f.member(i)
}
