package am2

import "time"

// timers are the channels that wait for a time, the earliest first: a binary heap by due. Most
// times move away again and again; due then stays what it was, and is looked at when it comes.
type timers []*channel

// earliest returns the first time, or Never.
func (t timers) earliest() time.Duration {
	if len(t) == 0 {
		return Never
	}
	return t[0].due
}

// schedule has the channel looked at not after the given time.
func (ch *channel) schedule(at time.Duration) {
	if at >= ch.due {
		return
	}
	t := &ch.peer.b.timers
	ch.due = at
	if ch.place < 0 {
		ch.place = len(*t)
		*t = append(*t, ch)
	}
	t.up(ch.place)
}

// pop removes the first channel, which then waits for nothing.
func (t *timers) pop() *channel {
	h := *t
	ch, last := h[0], h[len(h)-1]
	h[len(h)-1] = nil
	*t = h[:len(h)-1]
	if last != ch {
		h[0], last.place = last, 0
		t.down(0)
	}
	ch.due, ch.place = Never, -1
	return ch
}

func (t timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if t[parent].due <= t[i].due {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(t) {
			return
		}
		if child+1 < len(t) && t[child+1].due < t[child].due {
			child++
		}
		if t[i].due <= t[child].due {
			return
		}
		t.swap(i, child)
		i = child
	}
}

func (t timers) swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}
