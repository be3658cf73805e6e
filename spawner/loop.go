package spawner

import "time"

// loop is a goroutine that executes what others post to it, one function after the other. State that
// belongs to it needs no lock. Whose goroutine it is takes from events until it closes over.
type loop struct {
	events chan func()
	over   chan struct{}        // closed when no more events are taken
	timers map[*time.Timer]bool // those of after that have not come
}

func newLoop() *loop {
	return &loop{events: make(chan func()), over: make(chan struct{}), timers: make(map[*time.Timer]bool)}
}

// post has the loop execute f, and reports whether it will: not when it is over.
func (l *loop) post(f func()) bool {
	select {
	case l.events <- f:
		return true
	case <-l.over:
		return false
	}
}

// after posts f when d has passed. It is called on the loop.
func (l *loop) after(d time.Duration, f func()) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		l.post(func() {
			delete(l.timers, t)
			f()
		})
	})
	l.timers[t] = true
}

// end has the loop take no more events. It is called on the loop.
func (l *loop) end() {
	close(l.over)
	for t := range l.timers {
		t.Stop()
	}
}
