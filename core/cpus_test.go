package core

import "testing"

// A host is crowded when its ranks outnumber the CPUs in the union of their masks.
func TestCrowded(t *testing.T) {
	one := func(cpu int) []byte {
		b := make([]byte, 8*(cpu/64+1))
		b[cpu/8] |= 1 << (cpu % 8)
		return b
	}
	for _, c := range []struct {
		name  string
		masks [][]byte
		want  bool
	}{
		{"alone", [][]byte{one(3)}, false},
		{"a CPU each", [][]byte{one(0), one(70)}, false},
		{"one CPU for two", [][]byte{one(70), one(70)}, true},
		{"three on two", [][]byte{{3, 0, 0, 0, 0, 0, 0, 0}, one(0), one(1)}, true},
		{"unknown", [][]byte{nil, nil}, false},
	} {
		g := newInProcess(len(c.masks), nil)
		j := &Job{boot: g.ranks[0]}
		if got := j.crowded(func(r Rank) []byte { return c.masks[r] }); got != c.want {
			t.Errorf("%s: crowded is %v", c.name, got)
		}
	}
	if m := cpuMask(nil); len(m) == 0 || m[len(m)-8]|m[len(m)-7]|m[len(m)-6]|m[len(m)-5]|m[len(m)-4]|m[len(m)-3]|m[len(m)-2]|m[len(m)-1] == 0 {
		t.Errorf("this process may run on CPUs %x; no trailing words of zero are expected", m)
	}
}
