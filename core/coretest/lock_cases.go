package coretest

import (
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
)

var lockCases = []Case{{
	Name:  "lock/in-handlers",
	Rule:  "handlers and the code outside share handler-safe locks; TryLock fails while one is held (gasnet_hsl_t)",
	Ranks: []int{1, 2}, Body: lockInHandlers,
}, {
	Name:  "lock/exclusion",
	Rule:  "a handler-safe lock excludes goroutines and handlers from each other",
	Ranks: []int{2}, Needs: Threads, Body: lockExclusion,
}}

func lockInHandlers(t *T) error {
	var l, inner core.HSL
	var sum, told int
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		c := tok.Context()
		l.Lock(c)
		if !inner.TryLock(c) {
			t.Errorf("TryLock of a free lock failed")
		} else {
			sum += int(args[0])
			inner.Unlock(c)
		}
		l.Unlock(c)
		if err := tok.ReplyShort(answer); err != nil {
			t.Errorf("reply after Unlock: %v", err)
		}
	}, func(tok *core.Token, _ []uint32, _ []byte) {
		if l.TryLock(tok.Context()) {
			told++
			l.Unlock(tok.Context())
		}
	})
	if err != nil {
		return err
	}
	n := t.Times(200)
	for i := range n {
		if err := ep.RequestShort(t.Next(), request, 1); err != nil {
			return err
		}
		l.Lock(&ep.Context)
		sum++
		l.Unlock(&ep.Context)
		if err := t.Wait(&ep.Context, func() bool { return told > i }); err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return sum >= 2*n })
}

func lockExclusion(t *T) error {
	var l core.HSL
	var inside atomic.Int32
	var sum, tries int // guarded by l
	section := func() {
		if inside.Add(1) != 1 {
			t.Errorf("two are inside the lock")
		}
		sum++
		inside.Add(-1)
	}
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) {
		l.Lock(tok.Context())
		section()
		l.Unlock(tok.Context())
	})
	if err != nil {
		return err
	}
	const width = 3
	n := t.Times(250)
	err = together(ep, width, func(i int, c *core.Context) error {
		for round := range n {
			if round%2 == 0 {
				l.Lock(c)
			} else if !l.TryLock(c) {
				l.Lock(c)
				tries++
			}
			section()
			l.Unlock(c)
			if err := c.RequestShort(t.Next(), request); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.Wait(&ep.Context, func() bool {
		l.Lock(&ep.Context)
		defer l.Unlock(&ep.Context)
		return sum >= 2*width*n
	})
}
