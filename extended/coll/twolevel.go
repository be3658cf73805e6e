package coll

import "slices"

// The algorithms in two levels: what goes between hosts does so once for each host, by its leader.

// TwoLevel is their name.
const TwoLevel = "two-level"

// They have the algorithms of parts chosen by the table, which names them.
func init() {
	algorithms = append(algorithms,
		Algorithm{TwoLevel, Barrier, None, twoLevels, twoLevelBarrier},
		Algorithm{TwoLevel, Broadcast, None, twoLevels, twoLevelBroadcast},
		Algorithm{TwoLevel, Reduce, None, twoLevelsInOrder, twoLevelReduce},
		Algorithm{TwoLevel, AllReduce, None, twoLevelsInOrder, twoLevelAllReduce},
		Algorithm{TwoLevel, Scatter, None, twoLevels, twoLevelScatter},
		Algorithm{TwoLevel, Gather, None, twoLevels, twoLevelGather},
		Algorithm{TwoLevel, AllGather, None, twoLevels, twoLevelAllGather},
		Algorithm{TwoLevel, Scan, None, twoLevelsOfBlocks, twoLevelScan},
		Algorithm{TwoLevel, ExScan, None, twoLevelsOfBlocks, twoLevelScan},
	)
}

// nodeRadix is that of the trees by which a host's members tell their leader, and it them: flat for as many of them
// as a flat barrier is best for.
const nodeRadix = 16

// twoLevelBarrier has the members of a host report to its leader, which releases them when the leaders have met.
func twoLevelBarrier(c *Call, _ int, b *Builder) {
	host := c.hostLevel(b)
	parent, _, children := knomial(host.self, host.n, nodeRadix)
	for _, child := range children {
		b.Await(b.RecvSignal(host.at(child.rank)))
	}
	if parent >= 0 {
		b.Signal(host.at(parent))
		b.Await(b.RecvSignal(host.at(parent)))
	}
	c.leaderLevel(b, lowest).do(Barrier, 0, Span{}, Span{})
	for _, child := range slices.Backward(children) {
		b.Signal(host.at(child.rank))
	}
}

// twoLevelBroadcast has the root send to the leaders, and these to their hosts.
func twoLevelBroadcast(c *Call, _ int, b *Builder) {
	at := c.all(Dst)
	if c.isRoot() {
		at = c.all(Src)
	}
	leaders := c.leaderLevel(b, c.rootOrLowest)
	leaders.do(Broadcast, c.host(c.Root), at, at)
	host := c.hostLevel(b)
	host.do(Broadcast, host.number(leaders.leader()), at, at)
	if c.isRoot() {
		c.keep(b, c.all(Dst), c.all(Src))
	}
}

// twoLevelReduce combines what a host's members have at its leader, and what the leaders have at the root.
func twoLevelReduce(c *Call, _ int, b *Builder) {
	leaders := c.leaderLevel(b, c.rootOrLowest)
	leaders.do(Reduce, c.host(c.Root), c.all(Dst), reduceHost(c, b, leaders.leader()))
}

// twoLevelAllReduce combines what a host's members have at its leader, which passes on what the leaders reduce to all.
func twoLevelAllReduce(c *Call, _ int, b *Builder) {
	leaders := c.leaderLevel(b, lowest)
	leaders.do(AllReduce, 0, c.all(Dst), reduceHost(c, b, leaders.leader()))
	c.hostLevel(b).do(Broadcast, 0, c.all(Dst), c.all(Dst))
}

// reduceHost combines what a host's members have at its leader, and returns where it lies there.
func reduceHost(c *Call, b *Builder, leader int) Span {
	host := c.hostLevel(b)
	if host.alone() {
		return c.all(Src)
	}
	room := c.all(Dst)
	if c.Op == Reduce && !c.isRoot() && c.Self == leader {
		room = b.Temp(c.Bytes)
	}
	host.do(Reduce, host.number(leader), room, c.all(Src))
	return room
}

// bundle returns where the blocks of a host's members lie one after the other: in a buffer of N, if the members are
// consecutive, else in scratch.
func (c *Call) bundle(b *Builder, buf Buf, host int) (at Span, packed bool) {
	n := len(c.Hosts.members[host]) * c.Bytes
	if first, whole := c.Hosts.block(host); whole {
		return c.block(buf, first).Part(0, n), false
	}
	return b.Temp(n), true
}

// each calls f with the block of each of a host's members in a buffer of N, and in a bundle.
func (c *Call) each(buf Buf, host int, bundle Span, f func(block, part Span)) {
	for i, m := range c.Hosts.members[host] {
		f(c.block(buf, m), bundle.Part(i*c.Bytes, c.Bytes))
	}
}

// twoLevelScatter has the root send each leader the blocks of its host in one message, which it scatters.
func twoLevelScatter(c *Call, _ int, b *Builder) {
	leaders, host := c.leaderLevel(b, c.rootOrLowest), c.hostLevel(b)
	mine := c.all(Src) // who is no leader has none
	switch {
	case c.isRoot():
		for h := range leaders.n {
			leader := leaders.at(h)
			at, packed := c.bundle(b, Src, h)
			if packed {
				c.each(Src, h, at, func(block, part Span) { b.Copy(part, block) })
			}
			if leader == c.Root {
				mine = at
			} else {
				b.Send(leader, at)
			}
		}
	case leaders.self >= 0 && host.alone():
		b.Take(c.Root, c.all(Dst))
		return
	case leaders.self >= 0:
		mine = b.Temp(host.n * c.Bytes)
		b.Take(c.Root, mine)
	}
	if host.alone() {
		c.keep(b, c.all(Dst), mine)
		return
	}
	host.do(Scatter, host.number(leaders.leader()), c.all(Dst), mine.Part(0, c.Bytes))
}

// twoLevelGather has every leader gather the blocks of its host and send them to the root in one message.
func twoLevelGather(c *Call, _ int, b *Builder) {
	leaders, host := c.leaderLevel(b, c.rootOrLowest), c.hostLevel(b)
	if !c.isRoot() {
		mine := gatherHost(c, b, host, leaders.leader(), Span{})
		if leaders.self >= 0 {
			b.Send(c.Root, mine)
		}
		return
	}
	for h := range leaders.n {
		leader := leaders.at(h)
		at, packed := c.bundle(b, Dst, h)
		if leader == c.Root {
			gatherHost(c, b, host, leader, at)
		} else {
			b.Take(leader, at)
		}
		if packed {
			c.each(Dst, h, at, b.Copy)
		}
	}
}

// gatherHost gathers the blocks of a host's members at its leader, and returns where they lie there: at room, if that
// is not empty.
func gatherHost(c *Call, b *Builder, host *level, leader int, room Span) Span {
	switch {
	case host.alone() && room.Len == 0:
		return c.all(Src)
	case host.alone():
		c.keep(b, room, c.all(Src))
	case c.Self == leader && room.Len == 0:
		room = b.Temp(host.n * c.Bytes)
	}
	host.do(Gather, host.number(leader), room, c.all(Src))
	return room
}

// twoLevelAllGather has every leader gather the blocks of its host, the leaders exchange these as in Bruck's algorithm,
// and each pass on all.
func twoLevelAllGather(c *Call, _ int, b *Builder) {
	leaders, host := c.leaderLevel(b, lowest), c.hostLevel(b)
	whole := Span{Buf: Dst, Len: c.N * c.Bytes}
	if leaders.self < 0 {
		gatherHost(c, b, host, leaders.leader(), Span{})
		host.do(Broadcast, 0, whole, whole)
		return
	}
	n := c.Hosts.Count()
	around := func(i int) int { return (leaders.self + i) % n }
	begin := make([]int, n+1) // of the blocks of hosts from this one on, around the circle
	for i := range n {
		begin[i+1] = begin[i] + len(c.Hosts.members[around(i)])*c.Bytes
	}
	all := b.Temp(c.N * c.Bytes)
	gatherHost(c, b, host, c.Self, all.Part(0, begin[1]))
	if host.alone() {
		b.Copy(all.Part(0, begin[1]), c.all(Src))
	}
	for d := 1; d < n; d *= 2 {
		m := min(d, n-d)
		b.Send(leaders.at(around(n-d)), all.Part(0, begin[m]))
		b.Take(leaders.at(around(d)), all.Part(begin[d], begin[d+m]-begin[d]))
	}
	for i := range n {
		c.each(Dst, around(i), all.Part(begin[i], begin[i+1]-begin[i]), b.Copy)
	}
	host.do(Broadcast, 0, whole, whole)
}

// twoLevelScan scans within each host, of whose members the last has then what all have together; the last ones scan
// that, and pass it on, to be combined with what each member has. It is for hosts of consecutive members.
func twoLevelScan(c *Call, _ int, b *Builder) {
	host := c.hostLevel(b)
	last := c.leaderLevel(b, highest)
	total, mine := c.all(Src), c.all(Dst)
	switch {
	case host.alone():
		mine = c.all(Src)
	case c.Op == Scan:
		total = mine
	case last.self >= 0:
		total = b.copyOf(total)
	}
	host.do(c.Op, 0, mine, c.all(Src))
	if c.Op == ExScan && last.self >= 0 && !host.alone() {
		before := b.copyOf(mine)
		b.Combine(before, total)
		total = before
	}
	before := b.Temp(c.Bytes) // what the hosts before this one have together
	last.do(ExScan, 0, before, total)
	if c.Hosts.of[c.Self] == 0 {
		if c.Op == Scan {
			b.Copy(c.all(Dst), mine)
		}
		return
	}
	host.do(Broadcast, host.n-1, before, before)
	if c.Op == Scan || host.self > 0 {
		b.Combine(before, mine)
	}
	b.Copy(c.all(Dst), before)
}
