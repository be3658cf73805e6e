package grim

import "github.com/aqueduct-go/aqueduct/internal/buffer"

// slab hands out memory for what messages need, an allocation for many of them. Nothing is given back: what nobody refers to any more is collected when that is so of
// all that was allocated with it. So no message can be used again while a packet of it is still in the network.
//
// In a live job nobody but the NI has a message, and the NI knows when it is done with: free takes such memory back.
type slab struct {
	live       bool
	pool       buffer.Pool
	messages   []message
	operations []operation
	tasks      *task // that have been given back, as only the firmware knows them
}

// ShareMemory has the host take the memory of the simulation for its messages where another host of the same loop takes it, so that each allocation is for more
// messages. It is called before messages are sent.
func (h *Host) ShareMemory(other *Host) { h.program.slab = other.program.slab }

// slabItems is how many messages, or operations, an allocation is for.
const slabItems = 1024

// make returns n bytes, which are zero in a simulation.
func (s *slab) make(n int) []byte { return s.pool.Take(n) }

// free takes memory back, live. Nobody writes to it any more. It stays as it is until the next make.
func (s *slab) free(b []byte) {
	if s.live && b != nil {
		s.pool.Give(b)
	}
}

func (s *slab) message() *message {
	if len(s.messages) == 0 {
		s.messages = make([]message, slabItems)
	}
	m := &s.messages[0]
	s.messages = s.messages[1:]
	return m
}

func (s *slab) operation() *operation {
	if len(s.operations) == 0 {
		s.operations = make([]operation, slabItems)
	}
	o := &s.operations[0]
	s.operations = s.operations[1:]
	return o
}

// task returns a task with room for what most tasks have.
func (s *slab) task() *task {
	t := s.tasks
	if t == nil {
		t = new(task)
	} else {
		s.tasks = t.next
	}
	*t = task{}
	t.spans, t.blocks, t.regions = t.store.spans[:0], t.store.blocks[:0], t.store.regions[:0]
	return t
}

// give takes a task back that is over.
func (s *slab) give(t *task) { t.next, s.tasks = s.tasks, t }
