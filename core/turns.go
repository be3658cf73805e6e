package core

import "github.com/aqueduct-go/aqueduct/internal/shm"

// Turns is a wait whose loop is the caller's, for a condition that the library cannot evaluate, such as an
// expression of a program in another language (GASNET_BLOCKUNTIL):
//
//	for w := c.Turns("what"); !cond; {
//		if err := w.Next(); err != nil {
//			return err
//		}
//	}
//
// The rules for conditions are those of WaitUntil: only handlers make it true, and it is monotone. In Many mode the
// caller looks at it while handlers may run on other goroutines, so what they write it reads atomically.
type Turns struct {
	c    *Context
	what string
	seen uint32 // State.Found before the caller looked last
}

// Turns begins a wait, which reports call what. It does not block. The caller looks at the condition
// afterwards.
func (c *Context) Turns(what string) Turns {
	return Turns{c, what, shm.Load32(&c.ep.state.Found)}
}

// Next is one turn. It polls, and spins, yields and sleeps as WaitUntil does, until something has happened since the
// turn before, on any goroutine, that can have made a condition true. If that has happened already it returns at once.
// It returns the job's failure as soon as there is one. Next may not be called in a handler.
func (w *Turns) Next() error {
	ep := w.c.ep
	return w.c.wait(w.what, func() bool {
		before := w.seen
		w.seen = shm.Load32(&ep.state.Found)
		return w.seen != before
	})
}
