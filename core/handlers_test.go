package core

import (
	"slices"
	"strings"
	"testing"
)

func nop(*Token, []uint32, []byte) {}

// indices are those of entries made with the given ones.
func entriesAt(indices ...HandlerIndex) []HandlerEntry {
	var es []HandlerEntry
	for _, x := range indices {
		es = append(es, HandlerEntry{Index: x, Func: nop})
	}
	return es
}

func indicesOf(es []HandlerEntry) []HandlerIndex {
	var xs []HandlerIndex
	for _, e := range es {
		xs = append(xs, e.Index)
	}
	return xs
}

func TestRegisterAssignsFreeIndices(t *testing.T) {
	for _, c := range []struct {
		given   []HandlerIndex
		upwards bool
		want    []HandlerIndex
	}{
		{[]HandlerIndex{0, 0, 0}, true, []HandlerIndex{128, 129, 130}},
		{[]HandlerIndex{0, 0, 0}, false, []HandlerIndex{255, 254, 253}},
		{[]HandlerIndex{0, 129, 0, 128, 0}, true, []HandlerIndex{130, 129, 131, 128, 132}},
		{[]HandlerIndex{0, 254, 0, 255, 0}, false, []HandlerIndex{253, 254, 252, 255, 251}},
		{nil, true, nil},
	} {
		var table handlerTable
		es := entriesAt(c.given...)
		if err := table.register(es, ClientHandlers, c.upwards); err != nil {
			t.Fatalf("%v: %v", c.given, err)
		}
		if got := indicesOf(es); !slices.Equal(got, c.want) {
			t.Errorf("%v, upwards %v: got %v, want %v", c.given, c.upwards, got, c.want)
		}
		for _, x := range c.want {
			if table.fn[x] == nil || table.entry(x).Index != x {
				t.Errorf("%v: index %d is not registered", c.given, x)
			}
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	full := make([]HandlerEntry, 129)
	for i := range full {
		full[i].Func = nop
	}
	for name, c := range map[string]struct {
		es   []HandlerEntry
		base HandlerIndex
		says string
	}{
		"core index":         {entriesAt(0, 1), ClientHandlers, "reserved"},
		"extended index":     {entriesAt(0, 127), ClientHandlers, "reserved"},
		"core, extended":     {entriesAt(63), ExtendedHandlers, "reserved"},
		"duplicate":          {entriesAt(0, 130, 130), ClientHandlers, "taken"},
		"taken before":       {entriesAt(0, 200), ClientHandlers, `taken by "old"`},
		"no function":        {append(entriesAt(0), HandlerEntry{Index: 130, Name: "f"}), ClientHandlers, "(f): no function"},
		"too many arguments": {append(entriesAt(0), HandlerEntry{Func: nop, NArgs: MaxArgs + 1}), ClientHandlers, "at most 16"},
		"negative arguments": {append(entriesAt(0), HandlerEntry{Func: nop, NArgs: -1}), ClientHandlers, "-1 arguments"},
		"too many":           {full, ClientHandlers, "no index left"},
	} {
		var table handlerTable
		table.set(HandlerEntry{Index: 200, Func: nop, Name: "old"})
		given := indicesOf(c.es)
		err := table.register(c.es, c.base, true)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v does not say %q", name, err, c.says)
		}
		if !slices.Equal(indicesOf(c.es), given) {
			t.Errorf("%s: a refused table was written to", name)
		}
		for x, fn := range table.fn {
			if (fn != nil) != (x == 200) {
				t.Errorf("%s: a refused table changed index %d", name, x)
			}
		}
	}
}

func TestEntryCheck(t *testing.T) {
	free := HandlerEntry{Index: 130}
	strict := HandlerEntry{Index: 130, Flags: AllowShort | AllowLong | AllowReply, NArgs: 2}
	for _, k := range []Kind{Short, Medium, Long} {
		for _, reply := range []bool{false, true} {
			for n := range MaxArgs + 1 {
				h := MakeHeader(130, k, reply, n)
				if err := free.check(h); err != nil {
					t.Errorf("%v: %v", h, err)
				}
				if want := k != Medium && reply && n == 2; (strict.check(h) == nil) != want {
					t.Errorf("%v: allowed %v, want %v", h, !want, want)
				}
			}
		}
	}
}

func TestDriverRegistry(t *testing.T) {
	for name, d := range map[string]Driver{
		"no name":        {New: func(string) Conduit { return nil }},
		"no constructor": {Name: "x"},
		"duplicate":      {Name: "echo", New: func(string) Conduit { return nil }},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: Register did not panic", name)
				}
			}()
			Register(d)
		}()
	}
	if _, err := DriverByName("nothing"); err == nil || !strings.Contains(err.Error(), "echo") {
		t.Errorf("the error for an unknown conduit does not name the known: %v", err)
	}
	names := func() (ns []string) {
		for _, d := range Drivers() {
			ns = append(ns, d.Name)
		}
		return ns
	}()
	if !slices.IsSorted(names) || !slices.Contains(names, "echo") {
		t.Errorf("Drivers returns %v", names)
	}
}
