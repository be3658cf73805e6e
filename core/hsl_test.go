package core

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/aqueduct-go/aqueduct/internal/shm"
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

// TestHSLElsewhere has locks in memory that the garbage collector does not know, with and without debug
// mode: they exclude, and what debug mode knows of them is not there.
func TestHSLElsewhere(t *testing.T) {
	if typ := reflect.TypeFor[HSL](); pointers(typ) || typ.Size() != 8 || typ.Align() != 4 {
		t.Fatalf("a lock of %d bytes, aligned to %d, with pointers: %v", typ.Size(), typ.Align(), pointers(typ))
	}
	for _, debug := range []bool{false, true} {
		mem, err := shm.NewRegion(64, shm.Local) // under the race detector on the heap, since it sees that only
		if err != nil {
			t.Fatal(err)
		}
		locks := (*[2]HSL)(unsafe.Pointer(unsafe.SliceData(mem.Bytes())))
		const width, rounds = 4, 200
		sum := 0 // guarded by the second lock, which is taken inside the first
		err = alone(t, Config{Debug: debug}, nil, func(ep *Endpoint) error {
			var g errgroup.Group
			for range width {
				c := ep.NewContext()
				g.Go(func() error {
					for range rounds {
						locks[0].Lock(c)
						locks[1].Lock(c)
						sum++
						locks[1].Unlock(c)
						locks[0].Unlock(c)
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				return err
			}
			for i := range locks {
				if locks[i] != (HSL{}) {
					t.Errorf("lock %d is free and not zero: debug mode %v", i, debug)
				}
				locks[i].Lock(&ep.Context)
			}
			for i, b := range mem.Bytes()[2*unsafe.Sizeof(HSL{}):] {
				if b != 0 {
					t.Errorf("byte %d behind the locks was written: debug mode %v", i, debug)
				}
			}
			locks[1].Unlock(&ep.Context)
			locks[0].Unlock(&ep.Context)
			return nil
		})
		if err != nil || sum != width*rounds {
			t.Errorf("%d times inside, want %d: %v", sum, width*rounds, err)
		}
		if err := mem.Close(); err != nil {
			t.Error(err)
		}
	}
}

// pointers reports whether values of the type hold pointers.
func pointers(typ reflect.Type) bool {
	switch typ.Kind() {
	case reflect.Struct:
		for i := range typ.NumField() {
			if pointers(typ.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return pointers(typ.Elem())
	}
	return typ.Kind() < reflect.Bool || typ.Kind() > reflect.Complex128
}
