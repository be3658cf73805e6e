package core

import "testing"

// TestClocks: the bounds on the difference between two clocks hold it, whatever the way of messages is, and the best exchange counts.
func TestClocks(t *testing.T) {
	for name, c := range map[string]struct {
		own, other []int64
		ahead      int64 // by so much the first clock really is
		most       int64 // that the answer may be off
	}{
		"the same clock":             {[]int64{0, 10}, []int64{1, 9}, 0, 9},
		"ahead":                      {[]int64{1000, 1010}, []int64{1, 9}, 1000, 9},
		"behind":                     {[]int64{-500, -490}, []int64{1, 9}, -500, 9},
		"one way takes long":         {[]int64{1000, 1100}, []int64{95, 99}, 1000, 52},
		"a quick exchange is enough": {[]int64{1000, 2000, 3000, 3004}, []int64{0, 1000, 2000, 2004}, 1000, 4},
	} {
		offset, skew := between(c.own, c.other)
		if d := offset - c.ahead; d > skew || d < -skew || skew > c.most {
			t.Errorf("%s: %d ± %d, and it is %d ± %d", name, offset, skew, c.ahead, c.most)
		}
	}
}
