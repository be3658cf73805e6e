package amii

// What the tests of the package look at.

// DecodeFrame is decodeFrame.
func DecodeFrame(memory, packet []byte) (node int, datagram []byte, ok bool) {
	return decodeFrame(memory, packet)
}

// AppendFrame is appendFrame.
func AppendFrame(to []byte, node int, head, body []byte) []byte {
	return appendFrame(to, node, head, body)
}

// Buffers returns how many buffers of the NIC are taken by packets on their way out.
func (h *Host) Buffers() int { return h.program.profile.AM2.Buffers - h.program.buffers }

// Quiet reports whether the endpoint could be paged out.
func (e *Endpoint) Quiet() bool { return e.queues.quiet() && e.queues.staged == 0 }
