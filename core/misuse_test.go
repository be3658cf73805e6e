package core

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// usage checks that err is a UsageError of the call that says all of that.
func usage(t *testing.T, err error, op string, says ...string) {
	t.Helper()
	var u *UsageError
	if !errors.As(err, &u) || u.Op != op {
		t.Errorf("%v; want a UsageError of %s", err, op)
		return
	}
	for _, s := range says {
		if !strings.Contains(u.Msg, s) {
			t.Errorf("%s says %q; want %q in it", op, u.Msg, s)
		}
	}
}

// TestPollerInOnAdvance calls by the poller's context below OnAdvance: refused as in a
// handler, until the function returns; its own context may send.
func TestPollerInOnAdvance(t *testing.T) {
	for _, threads := range []Threads{Single, Many} {
		got := 0
		err := alone(t, Config{Threads: threads}, []HandlerEntry{
			{Index: 130, Func: func(tok *Token, _ []uint32, _ []byte) { got++ }},
		}, func(ep *Endpoint) error {
			ran := false
			ep.OnAdvance(func(c *Context) int {
				ep.Unkick()
				ran = true
				const says = "called by an operator of a collective, where handlers run"
				usage(t, ep.RequestShort(0, 130), "RequestShort", says)
				usage(t, ep.Poll(), "Poll", says)
				usage(t, ep.WaitUntil(func() bool { return true }), "WaitUntil", says)
				usage(t, ep.Exclusively(func() {}), "Exclusively", says)
				if err := c.TryShort(0, 130); err != nil {
					t.Errorf("%v: the context of OnAdvance: %v", threads, err)
				}
				return 1
			})
			if err := ep.Exclusively(ep.Kick); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return got > 0 }); err != nil {
				return err
			}
			if !ran {
				t.Errorf("%v: OnAdvance did not run", threads)
			}
			if err := ep.RequestShort(0, 130); err != nil {
				return err
			}
			return ep.WaitUntil(func() bool { return got > 1 })
		})
		if err != nil {
			t.Errorf("%v: %v", threads, err)
		}
	}
}

// TestNewContextInPoll makes the first context where the default one is inside of an unlocked section.
// It may be used afterwards, and closed in such a place; to use it in there panics, and does not hang.
func TestNewContextInPoll(t *testing.T) {
	for _, threads := range []Threads{Single, Many} {
		var do func(ep *Endpoint)
		for what, run := range map[string]func(ep *Endpoint) error{
			"handler": func(ep *Endpoint) error {
				if err := ep.RequestShort(0, 130); err != nil {
					return err
				}
				return ep.Poll()
			},
			"condition":   func(ep *Endpoint) error { return ep.WaitUntil(func() bool { do(ep); return true }) },
			"Exclusively": func(ep *Endpoint) error { return ep.Exclusively(func() { do(ep) }) },
		} {
			for use, call := range map[string]func(c *Context){
				"":         func(*Context) {},
				"request":  func(c *Context) { c.RequestShort(0, 131) },
				"poll":     func(c *Context) { c.Poll() },
				"wait":     func(c *Context) { c.WaitUntil(func() bool { return true }) },
				"elsewise": func(c *Context) { c.Exclusively(func() {}) },
			} {
				if use != "" && threads == Single {
					continue // nothing is locked, so that nobody notices
				}
				got := 0
				var c *Context
				do = func(ep *Endpoint) {
					if err := ep.NewContext().Close(); err != nil {
						t.Error(err)
					}
					c = ep.NewContext()
					call(c)
				}
				err := alone(t, Config{Threads: threads}, []HandlerEntry{
					{Index: 130, Func: func(tok *Token, _ []uint32, _ []byte) { do(tok.Endpoint()) }},
					{Index: 131, Func: func(*Token, []uint32, []byte) { got++ }},
				}, func(ep *Endpoint) error {
					if err := run(ep); err != nil {
						return err
					}
					if err := c.RequestShort(0, 131); err != nil {
						return err
					}
					return c.WaitUntil(func() bool { return got > 0 })
				})
				switch {
				case use == "" && err != nil:
					t.Errorf("%v, %s: the job ended with %v", threads, what, err)
				case use != "" && (StatusOf(err) != 2 || !strings.Contains(err.Error(), "core: rank 0: Context: a context that was made in a handler")):
					t.Errorf("%v, %s, %s: the job ended with %v", threads, what, use, err)
				}
			}
		}
	}
}

// TestContextBesidePoll has another goroutine call by a context while the default one is in a handler: the call begins
// when the handler has returned, and is not taken for one of the handler's.
func TestContextBesidePoll(t *testing.T) {
	for what, call := range map[string]func(c *Context) error{
		"request": func(c *Context) error { return c.RequestShort(0, 131) },
		"poll":    func(c *Context) error { return c.Poll() },
		"wait":    func(c *Context) error { return c.WaitUntil(func() bool { return true }) },
	} {
		result := make(chan any, 1)
		err := alone(t, Config{Threads: Many}, []HandlerEntry{
			{Index: 130, Func: func(tok *Token, _ []uint32, _ []byte) {
				c := tok.Endpoint().NewContext()
				go func() {
					defer func() {
						if r := recover(); r != nil {
							result <- r
						}
					}()
					result <- call(c)
				}()
				// The handler stays until the call waits for it, or has ended.
				for text := make([]byte, 1<<20); len(result) == 0 && !strings.Contains(string(text[:runtime.Stack(text, true)]), ".outlast("); {
					runtime.Gosched()
				}
			}},
			{Index: 131, Func: func(*Token, []uint32, []byte) {}},
		}, func(ep *Endpoint) error {
			if err := ep.RequestShort(0, 130); err != nil {
				return err
			}
			if err := ep.Poll(); err != nil {
				return err
			}
			if r := <-result; r != nil {
				t.Errorf("%s: %v", what, r)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: the job ended with %v", what, err)
		}
	}
}

// TestCloseRefused closes contexts that cannot be closed, and uses closed ones.
func TestCloseRefused(t *testing.T) {
	for _, threads := range []Threads{Single, Many} {
		err := alone(t, Config{Threads: threads}, []HandlerEntry{
			{Index: 130, Func: func(tok *Token, _ []uint32, _ []byte) {
				usage(t, tok.Context().Close(), "Context.Close", "from the handler of")
			}},
		}, func(ep *Endpoint) error {
			usage(t, ep.Context.Close(), "Context.Close", "the endpoint's own")
			c := ep.NewContext()
			if _, err := c.Prepare(0, Offer{Kind: Medium}); err != nil {
				return err
			}
			usage(t, c.Close(), "Context.Close", "a request is prepared")
			if err := c.Commit(130, 0); err != nil {
				return err
			}
			if err := c.Poll(); err != nil { // its handler tries to close c
				return err
			}
			if err := c.Close(); err != nil {
				return err
			}
			usage(t, c.RequestShort(0, 130), "RequestShort", "the context is closed")
			usage(t, c.Poll(), "Poll", "the context is closed")
			usage(t, c.Close(), "Context.Close", "the context is closed")
			if again := ep.NewContext(); again.RequestShort(0, 130) != nil || again.Poll() != nil {
				t.Errorf("%v: what was closed cannot be used again", threads)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%v: %v", threads, err)
		}
	}
}

// TestMisuseNamesCallAndHandler checks who is named in the errors of refused calls.
func TestMisuseNamesCallAndHandler(t *testing.T) {
	err := alone(t, Config{}, []HandlerEntry{
		{Index: 130, Name: "hello", Func: func(tok *Token, _ []uint32, _ []byte) {
			usage(t, tok.Endpoint().RequestMedium(0, 130, nil), "RequestMedium",
				"from the handler of a short request, handler 130 (hello), 1 argument from rank 0")
		}},
	}, func(ep *Endpoint) error {
		big, args := make([]byte, 513), make([]uint32, MaxArgs+1)
		usage(t, ep.RequestShort(7, 130), "RequestShort", "no rank 7")
		usage(t, ep.RequestMedium(0, 130, big), "RequestMedium", "513 bytes")
		usage(t, ep.RequestLong(0, 130, nil, 4097), "RequestLong", "segment of 4096 bytes")
		usage(t, ep.RequestLongAsync(0, 0, nil, 0), "RequestLongAsync", "never a handler")
		usage(t, ep.RequestMedium(0, 130, nil, args...), "RequestMedium", "17 arguments; at most 16")
		usage(t, ep.Request(0, Message{Kind: Medium, Handler: 130, Async: true}), "Request", "Async")
		if err := ep.RequestShort(0, 130, 1); err != nil {
			return err
		}
		return ep.Poll()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMalformedNamesHandler sends what the handler is not registered for.
func TestMalformedNamesHandler(t *testing.T) {
	err := alone(t, Config{Debug: true}, []HandlerEntry{
		{Index: 130, Name: "hello", Flags: AllowShort | AllowRequest, NArgs: 1, Func: func(*Token, []uint32, []byte) {}},
	}, func(ep *Endpoint) error {
		if err := ep.RequestShort(0, 130, 1, 2); err != nil {
			return err
		}
		return ep.Poll()
	})
	const want = "short request, handler 130 (hello), 2 arguments: the handler is registered for 1 argument"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the job ended with %v; want %q", err, want)
	}
}

// TestImpossibleStatus ends jobs with statuses that no process can have.
func TestImpossibleStatus(t *testing.T) {
	for _, c := range []struct{ given, want int }{{3, 3}, {255, 255}, {256, 1}, {300, 44}, {-1, 255}, {-256, 1}} {
		for what, body := range map[string]func(j *Job) error{
			"Exit":   func(j *Job) error { j.Exit(c.given); return nil },
			"return": func(*Job) error { return fmt.Errorf("enough: %w", &ExitError{c.given, "done"}) },
		} {
			err := RunGoroutines(1, Config{Conduit: "echo"}, body)
			told := strings.Contains(fmt.Sprint(err), fmt.Sprintf("%d is no exit status", c.given))
			if StatusOf(err) != c.want || told != (c.given != c.want) {
				t.Errorf("%s with %d: status %d, %v; want %d", what, c.given, StatusOf(err), err, c.want)
			}
			if what == "return" && !strings.Contains(fmt.Sprint(err), "enough: done") {
				t.Errorf("return with %d: %v; want the body's error in it", c.given, err)
			}
		}
	}
}

// After another context has seen the default one outside, that may still say for a moment that it is
// inside, when it finds that it is not alone: nobody takes that for the section in which the bias ended.
func TestBiasIsLeftForGood(t *testing.T) {
	err := alone(t, Config{Threads: Many}, []HandlerEntry{{Index: 131, Func: func(*Token, []uint32, []byte) {}}}, func(ep *Endpoint) error {
		c := ep.NewContext()
		if err := c.Poll(); err != nil {
			return err
		}
		atomic.StoreUint32(&ep.state.Inside, 1)
		defer atomic.StoreUint32(&ep.state.Inside, 0)
		var sent error
		return errors.Join(c.Exclusively(func() { sent = c.Request(0, Message{Kind: Short, Handler: 131, Immediate: true}) }), sent)
	})
	if err != nil {
		t.Error(err)
	}
}
