package coll

// Exchange returns the schedule in which self sends span send[i] to member i and receives
// span recv[i] from it, for all i, itself included; nil stands for nothing to or from
// anybody. Empty spans take no message, so both sides know the lengths. Members are
// served in an order that starts behind self, lest all begin with the same one.
func Exchange(self int, recv, send []Span) *Schedule {
	var b Builder
	if recv != nil && send != nil {
		b.Copy(recv[self], send[self])
	}
	for d := 1; d < len(send); d++ {
		peer := (self + d) % len(send)
		b.Send(peer, send[peer])
	}
	for d := 1; d < len(recv); d++ {
		peer := (self - d + len(recv)) % len(recv)
		b.Take(peer, recv[peer])
	}
	return b.Schedule()
}
