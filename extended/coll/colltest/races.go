package colltest

import (
	"fmt"
	"sort"
)

// races looks for steps that only the order of this simulation kept apart. Clocks tell what
// must happen before what in every order. Without races every order has the same outcome,
// as memory changes hands by messages alone.
func (m *machine) races() error {
	for i := range m.members {
		if err := m.members[i].arrivals(); err != nil {
			return fmt.Errorf("member %d: %w", i, err)
		}
		x := &m.members[i] // its Shm is given away when it ends
		x.writes = append(x.writes, write{use{x.done, place{shared, 0, x.Schedule.Shm}}, x.clock})
	}
	for _, r := range m.reads {
		writes := m.members[r.owner].writes
		after := sort.Search(len(writes), func(i int) bool { return writes[i].step >= r.knew })
		for _, w := range writes[after:] {
			if w.clock[r.reader] > r.step {
				break // this and all that follow wait for the read
			}
			if r.overlaps(w.place) {
				return fmt.Errorf("member %d, step %d, reads Shm that member %d may write in its step %d", r.reader, r.step, r.owner, w.step)
			}
		}
	}
	return nil
}

// arrivals checks that the memory which a message comes to is left alone from the first
// step that its sender may not have waited for until the message is awaited.
func (x *member) arrivals() error {
	type window struct {
		use       // the step is that which awaits it
		since int // what steps may run when it comes
	}
	var windows []window
	for i := range x.came {
		r := &x.Schedule.Recvs[i]
		if r.To.Len == 0 {
			continue
		}
		w := window{use{x.awaited[i], x.place(r.To)}, x.came[i].clock[x.rank]}
		first := sort.Search(len(x.uses), func(i int) bool { return x.uses[i].step >= w.since })
		for _, u := range x.uses[first:] {
			if u.step >= w.step {
				break
			}
			if u.overlaps(w.place) {
				return fmt.Errorf("step %d uses memory that message %d may come to", u.step, i)
			}
		}
		for _, v := range windows {
			if v.overlaps(w.place) && v.step >= w.since && w.step >= v.since {
				return fmt.Errorf("message %d may come to the memory of another", i)
			}
		}
		windows = append(windows, w)
	}
	return nil
}
