package coll

// Exchange returns the schedule in which self sends span send[i] to member i and receives
// span recv[i] from it, for all i, itself included; nil stands for nothing to or from
// anybody. Empty spans take no message, so both sides know the lengths; but if told, every
// span takes one, a signal if it is empty, so that members whose lengths differ notice. That
// is the same for all members. Members are served in an order that starts behind self, lest
// all begin with the same one.
func Exchange(self int, recv, send []Span, told bool) *Schedule {
	var b Builder
	if recv != nil && send != nil {
		b.Copy(recv[self], send[self])
	}
	put, take := b.Send, b.Take
	if told {
		if recv == nil {
			recv = make([]Span, len(send))
		}
		if send == nil {
			send = make([]Span, len(recv))
		}
		put, take = b.send, func(peer int, to Span) { b.Await(b.recv(peer, to)) }
	}
	for d := 1; d < len(send); d++ {
		peer := (self + d) % len(send)
		put(peer, send[peer])
	}
	for d := 1; d < len(recv); d++ {
		peer := (self - d + len(recv)) % len(recv)
		take(peer, recv[peer])
	}
	return b.Schedule()
}
