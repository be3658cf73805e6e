package amii

// memory is what the packets of a cluster are in, and their payloads in the memory of hosts. What has been used is used again. It is one
// for all NICs, since packets move between them; what gets lost on the way is not missed.
type memory struct {
	sizes [2]int // of a packet without a fragment, and of any
	free  [2][][]byte
}

func newMemory(p *Profile) *memory {
	c := p.config()
	return &memory{sizes: [2]int{typeSize + c.Pack, typeSize + max(c.Pack, c.Datagram)}}
}

// get returns memory for n bytes, of which there are none yet.
func (m *memory) get(n int) []byte {
	for i, size := range m.sizes {
		if n > size {
			continue
		}
		if last := len(m.free[i]) - 1; last >= 0 {
			b := m.free[i][last]
			m.free[i] = m.free[i][:last]
			return b[:0]
		}
		return make([]byte, 0, size)
	}
	return make([]byte, 0, n)
}

// put takes memory back that nobody reads or writes any more. Memory that get has not made is not used again.
func (m *memory) put(b []byte) {
	for i, size := range m.sizes {
		if cap(b) == size {
			m.free[i] = append(m.free[i], b)
			return
		}
	}
}
