package hpam

// Inject has a frame come to a workstation, as if another had sent it.
func (w *Workstation) Inject(from int, data []byte) {
	w.card.receive(frame{from, w.card.id, data})
}

// Encode, Decode and Queued are for tests.
func Encode(key, seq uint32, kind, buffer uint8, handler uint16, args [4]uint32, data []byte) []byte {
	return encode(nil, &header{key, seq, kind, buffer, handler, args}, data)
}

// Decoded reports whether b is a message, and what encode makes of what it says.
func Decoded(b []byte) (again []byte, ok bool) {
	h, data, ok := decode(b)
	if !ok {
		return nil, false
	}
	return encode(nil, &h, data), true
}

// Queued returns how many messages of other programs wait in a process, out and in.
func (p *Process) Queued() (output, input int) { return p.output.Len(), p.input.Len() }
