package coll

// Meet returns a schedule that does what s does, after signals by which every member hears,
// directly or not, of every other: a dissemination. The signals are sent first and waited
// for last.
func Meet(s *Schedule, self, members int) *Schedule {
	var b Builder
	for d := 1; d < members; d *= 2 {
		b.Signal((self + d) % members)
	}
	var signals []int
	for d := 1; d < members; d *= 2 {
		signals = append(signals, b.RecvSignal((self+members-d)%members))
	}
	message := make([]int, len(s.Recvs))
	for i, r := range s.Recvs {
		message[i] = b.recv(r.Peer, r.To)
	}
	for _, step := range s.Steps {
		switch step.Kind {
		case Send:
			b.send(step.Peer, step.From)
		case Await:
			b.Await(message[step.Msg])
		default:
			b.s.Steps = append(b.s.Steps, step)
		}
	}
	for _, m := range signals {
		b.Await(m)
	}
	b.s.Tmp, b.s.Shm = s.Tmp, s.Shm
	return b.Schedule()
}
