package core

import (
	"errors"
	"fmt"
	"testing"
)

func TestHeaderRoundTrip(t *testing.T) {
	for h := range 256 {
		for _, k := range []Kind{Short, Medium, Long} {
			for _, reply := range []bool{false, true} {
				for n := range MaxArgs + 1 {
					x := MakeHeader(HandlerIndex(h), k, reply, n)
					if x.Handler() != HandlerIndex(h) || x.Kind() != k || x.Reply() != reply || x.NArgs() != n {
						t.Fatalf("MakeHeader(%d, %v, %v, %d) reads back as %v", h, k, reply, n, x)
					}
				}
			}
		}
	}
}

func TestHeaderLayout(t *testing.T) {
	// Handler 8 bits, reply 1, category 2, argument count 5, as published for SCI.
	if got := uint16(MakeHeader(0x81, Long, true, 3)); got != 0x81<<8|1<<7|2<<5|3 {
		t.Errorf("header %#x", got)
	}
	if x := Header(0xffff); x.Handler() != 255 || x.Kind() != 3 || !x.Reply() || x.NArgs() != 31 {
		t.Errorf("a malformed header reads as %v", x)
	}
}

func TestStrings(t *testing.T) {
	for got, want := range map[string]string{
		MakeHeader(130, Medium, false, 2).String():             "medium request, handler 130, 2 arguments",
		MakeHeader(141, Long, true, 0).String():                "long reply, handler 141, 0 arguments",
		Kind(3).String():                                       "Kind(3)",
		fmt.Sprint(Many, Single):                               "many single",
		(&UsageError{2, "RequestShort", "no"}).Error():         "core: rank 2: RequestShort: no",
		(&ExitError{Status: 3}).Error():                        "job ended with status 3",
		(&ExitError{Status: 3, Reason: "rank 1 died"}).Error(): "rank 1 died",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestStatusOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {errors.New("x"), 1}, {&ExitError{Status: 0}, 0}, {&ExitError{Status: 137}, 137},
		{fmt.Errorf("wrapped: %w", &ExitError{Status: 5}), 5}, {&UsageError{}, 1}, {ErrNoRoom, 1},
	} {
		if got := StatusOf(c.err); got != c.want {
			t.Errorf("StatusOf(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}
