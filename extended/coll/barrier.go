package coll

// dissemination is the barrier in which, in every round, a member hears of k times as many
// (Hensgen, Finkel and Manber; with more than one signal per round, Hoefler et al.).
func dissemination(c *Call, k int, b *Builder) {
	for d := 1; d < c.N; d *= k {
		for to := d; to < min(c.N, k*d); to += d {
			b.Signal(c.mod(c.Self + to))
		}
		for from := d; from < min(c.N, k*d); from += d {
			b.Await(b.RecvSignal(c.mod(c.Self - from)))
		}
	}
}

// linearBarrier has everybody report to member 0, which releases them.
func linearBarrier(c *Call, _ int, b *Builder) {
	if c.Self != 0 {
		b.Signal(0)
		b.Await(b.RecvSignal(0))
		return
	}
	for i := 1; i < c.N; i++ {
		b.Await(b.RecvSignal(i))
	}
	for i := 1; i < c.N; i++ {
		b.Signal(i)
	}
}

// meetRadix is that of the barrier within other algorithms.
const meetRadix = 4

// meet ends an algorithm that lets others read this member's Shm.
func meet(c *Call, b *Builder) { dissemination(c, meetRadix, b) }

// signalAll tells every other member, and waits until all have told this one.
func signalAll(c *Call, b *Builder) {
	for i := 1; i < c.N; i++ {
		b.Signal(c.mod(c.Self + i))
	}
	for i := 1; i < c.N; i++ {
		b.Await(b.RecvSignal(c.mod(c.Self - i)))
	}
}
