package core

import (
	"strings"
	"testing"
)

// TestHSLDebugRules breaks every rule of handler-safe locks that debug mode knows.
func TestHSLDebugRules(t *testing.T) {
	var a, b HSL
	for name, c := range map[string]struct {
		says string
		do   func(*Context)
	}{
		"locked twice":    {"HSL.Lock: the lock is already held", func(c *Context) { a.Lock(c); a.Lock(c) }},
		"tried twice":     {"HSL.TryLock: the lock is already held", func(c *Context) { a.Lock(c); a.TryLock(c) }},
		"unlocked unheld": {"HSL.Unlock: the lock is not held", func(c *Context) { a.Unlock(c) }},
		"unlocked twice":  {"HSL.Unlock: the lock is not held", func(c *Context) { a.Lock(c); a.Unlock(c); a.Unlock(c) }},
		"others' lock":    {"HSL.Unlock: the lock is not held", func(c *Context) { a.Lock(c.Endpoint().NewContext()); a.Unlock(c) }},
		"wrong order":     {"reverse order", func(c *Context) { a.Lock(c); b.Lock(c); a.Unlock(c) }},
		"request":         {"RequestShort: called while holding", func(c *Context) { a.Lock(c); c.RequestShort(0, 130) }},
		"medium":          {"called while holding", func(c *Context) { a.Lock(c); c.RequestMedium(0, 130, nil) }},
		"prepare":         {"called while holding", func(c *Context) { a.Lock(c); c.Prepare(0, Offer{Kind: Medium}) }},
		"poll":            {"Poll: called while holding", func(c *Context) { a.Lock(c); c.Poll() }},
		"wait":            {"WaitUntil: called while holding", func(c *Context) { a.Lock(c); c.WaitUntil(func() bool { return true }) }},
		"barrier":         {"Barrier: called while holding", func(c *Context) { a.Lock(c); c.Barrier() }},
		"one of two left": {"WaitLocal: called while holding", func(c *Context) { a.Lock(c); b.Lock(c); b.Unlock(c); c.WaitLocal(new(Completion)) }},
		"kept by handler": {"handler: returned from a short request, handler 131", func(c *Context) { c.RequestShort(0, 131); c.Poll() }},
		"reply with lock": {"ReplyShort: called while holding", func(c *Context) { c.RequestShort(0, 132); c.Poll() }},
		"prepared reply":  {"PrepareReply: called while holding", func(c *Context) { c.RequestShort(0, 133); c.Poll() }},
	} {
		a, b = HSL{}, HSL{}
		err := alone(t, Config{Debug: true, Threads: Single}, []HandlerEntry{
			{Index: 130, Func: nop},
			{Index: 131, Func: func(tok *Token, _ []uint32, _ []byte) { a.Lock(tok.Context()) }},
			{Index: 132, Func: func(tok *Token, _ []uint32, _ []byte) {
				a.Lock(tok.Context())
				tok.ReplyShort(130)
				a.Unlock(tok.Context())
			}},
			{Index: 133, Func: func(tok *Token, _ []uint32, _ []byte) {
				a.Lock(tok.Context())
				tok.Prepare(Offer{Kind: Medium})
				a.Unlock(tok.Context())
			}},
		}, func(ep *Endpoint) error { c.do(&ep.Context); return nil })
		if StatusOf(err) != 1 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: job ended with %v, want %q", name, err, c.says)
		}
	}
}

// TestHSLDebugAllows keeps the rules.
func TestHSLDebugAllows(t *testing.T) {
	var a, b HSL
	got := 0
	err := alone(t, Config{Debug: true}, []HandlerEntry{
		{Index: 130, Func: func(tok *Token, _ []uint32, _ []byte) {
			c := tok.Context()
			a.Lock(c)
			b.Lock(c)
			b.Unlock(c)
			a.Unlock(c)
			if err := tok.ReplyShort(131); err != nil {
				t.Error(err)
			}
		}},
		{Index: 131, Func: func(tok *Token, _ []uint32, _ []byte) {
			got++
			if !a.TryLock(tok.Context()) {
				t.Error("TryLock of a free lock failed")
			}
			a.Unlock(tok.Context())
		}},
	}, func(ep *Endpoint) error {
		c, other := &ep.Context, ep.NewContext()
		a.Lock(c)
		b.Lock(c)
		if a.TryLock(other) {
			t.Error("TryLock of a lock held by another context succeeded")
		}
		b.Unlock(c)
		a.Unlock(c)
		if err := c.RequestShort(0, 130); err != nil {
			return err
		}
		return c.WaitUntil(func() bool { return got > 0 })
	})
	if err != nil {
		t.Error(err)
	}
}
