package fabric_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
)

const testbed = `about the testbed # of two switches
switch s0 4 LAN 4 SAN
switch s1 8 SAN
host h0 s0:0
host h1 s1:3 1.5 m
host idle
link s0:4 s1:0 0 m
link s0:5 s0:6
link s0:7 s1:2 35 ns 80 MB/s 2 m
link s1:4 s1:5 4.0000001 ns/B
`

func TestParse(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Parse("x", testbed)
	if err != nil {
		t.Fatal(err)
	}
	if err := topo.Check(); err != nil {
		t.Error(err)
	}
	s := topo.Switches[0]
	if topo.About != "the testbed" || len(topo.Hosts) != 3 || len(topo.Switches) != 2 || len(topo.Links) != 6 ||
		s.Ports[3] != fabric.LAN || s.Ports[4] != fabric.SAN ||
		topo.Links[0].Length != fabric.DefaultLength || topo.Links[1].Length != 150 || topo.Links[2].Length != 0 {
		t.Errorf("%+v", topo)
	}
	if l := topo.Links[4]; l.Length != 200 || l.Rate.Time(1) != 12_500 || l.Delay != 35*ns {
		t.Errorf("a link with a rate and a delay: %+v", l)
	}
	if again, err := fabric.Parse("x", topo.String()); err == nil && !slices.Equal(again.Links, topo.Links) {
		t.Errorf("%+v are read again as %+v", topo.Links, again.Links)
	}
	if again, err := fabric.Parse("x", topo.String()); err != nil || again.String() != topo.String() {
		t.Errorf("what is printed is read as %v, %v", again, err)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "x has no host",
		"swich s0 8 SAN":                 `x:1: "swich" begins no line`,
		"\nswitch s0 8":                  "x:2: the line is: switch",
		"switch s0 8 WAN":                `"WAN" is no kind of port`,
		"switch s0 33 SAN":               `"33" is no number of ports`,
		"switch s0 20 SAN 20 LAN":        "switch s0 has 40 ports",
		"switch s0 8 SAN\nhost s0 s0:1":  `x:2: "s0" is given twice`,
		"switch s/0 8 SAN":               `"s/0" is no name`,
		"host h0 s0:1":                   `no host or switch before this line is called "s0"`,
		"switch s0 8 SAN\nhost h0 s0":    "s0 is a switch: write s0:<port>",
		"host h0\nhost h1 h0:0":          "h0 is a host, which has one port",
		"switch s0 8 SAN\nhost h0 s0:8":  "switch s0 has no port 8; its ports are 0 to 7",
		"switch s0 8 SAN\nhost h0 s0:-1": "switch s0 has no port -1",
		"switch s0 8 SAN\nhost h0 s0:x":  `"x" is no number of a port`,
		"switch s0 8 SAN\nhost h0 s0:0\nlink s0:0 s0:1": "x:3: s0:0 has a cable already",
		"switch s0 8 SAN\nlink s0:1 s0:1":               "s0:1 has a cable already",
		"switch s0 8 SAN\nlink s0:1 s0:2 10":            `"10" is no length`,
		"switch s0 8 SAN\nlink s0:1 s0:2 0.001 m":       "whole centimetres",
		"switch s0 8 SAN\nlink s0:1 s0:2 1 m 5":         `"5" is no length, rate or delay`,
		"switch s0 8 SAN\nlink s0:1 s0:2 1 MHz":         `"1 MHz" is no length, rate or delay`,
		"switch s0 8 SAN\nlink s0:1 s0:2 1 ns 2 ns":     "x:2: a second delay of the cable: 2 ns",
		"switch s0 8 SAN\nlink s0:1 s0:2 0 ns":          "a cable of 0 m has that delay",
		"switch s0 8 SAN\nlink s0:1 s0:2 0 ns/B":        "x:2: rate 0 ns/B: must not be 0",
		"switch s0 8 SAN\nlink s0:1 s0:2 0 MB/s":        "rate 0 MB/s: must not be 0",
		"switch s0 8 SAN\nlink s0:1 s0:2 9999 GB/s":     "a link on which a byte takes 0",
		"switch s0 8 SAN\nlink s0:1 s0:2 1 s":           "it can take up to 1ms",
		"switch s0 8 SAN\nlink s0:1 s0:2 1e9 m":         "no length in metres",
		"about a\nabout b":                              "x:2: one line says: about",
	} {
		if _, err := fabric.Parse("x", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(testbed)
	f.Add("host a\nhost b\nlink a b 3 m")
	f.Add("host a\nhost b\nlink a b 160 MB/s 3 m 15.5 ns")
	f.Add("host a\nhost b\nlink a b 0.0000015 ns/B 1 ps")
	f.Fuzz(func(t *testing.T, text string) {
		topo, err := fabric.Parse("x", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fabric: x") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		if err := topo.Check(); err != nil {
			t.Errorf("accepted, but %v", err)
		}
		topo.Cabling()
		again, err := fabric.Parse("x", topo.String())
		if err != nil || again.String() != topo.String() {
			t.Errorf("printed and read again: %v\n%v\n%v", err, topo, again)
		}
	})
}

// TestShapes generates a topology of each shape, and counts what is in it.
func TestShapes(t *testing.T) {
	t.Parallel()
	s := fabric.Shape{Hosts: 2}
	for _, c := range []struct {
		make                   func() (*fabric.Topology, error)
		switches, hosts, links int
	}{
		{func() (*fabric.Topology, error) { return s.Line(1) }, 1, 2, 2},
		{func() (*fabric.Topology, error) { return s.Line(4) }, 4, 8, 8 + 3},
		{func() (*fabric.Topology, error) { return s.Ring(2) }, 2, 4, 4 + 2},
		{func() (*fabric.Topology, error) { return s.Ring(5) }, 5, 10, 10 + 5},
		{func() (*fabric.Topology, error) { return s.Mesh(3, 4) }, 12, 24, 24 + 2*4 + 3*3},
		{func() (*fabric.Topology, error) { return s.Torus(3, 4) }, 12, 24, 24 + 2*12},
		{func() (*fabric.Topology, error) { return s.Torus(3, 3, 3) }, 27, 54, 54 + 3*27},
		{func() (*fabric.Topology, error) { return s.FatTree(3, 4) }, 48, 64, 3 * 64},
		{func() (*fabric.Topology, error) { return s.FatTree(1, 3) }, 1, 3, 3},
	} {
		topo, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		if err := topo.Check(); err != nil {
			t.Errorf("%s: %v", topo.About, err)
		}
		if len(topo.Switches) != c.switches || len(topo.Hosts) != c.hosts || len(topo.Links) != c.links {
			t.Errorf("%s: %d switches, %d hosts, %d links; want %d, %d, %d", topo.About,
				len(topo.Switches), len(topo.Hosts), len(topo.Links), c.switches, c.hosts, c.links)
		}
		reached(t, topo)
	}
}

// reached makes sure that every host and switch can be reached.
func reached(t *testing.T, topo *fabric.Topology) {
	t.Helper()
	group := make(map[fabric.End]int)
	node := func(e fabric.End) fabric.End { e.Port = 0; return e }
	for i := range topo.Links {
		a, b := node(topo.Links[i].Ends[0]), node(topo.Links[i].Ends[1])
		for _, e := range []fabric.End{a, b} {
			if _, ok := group[e]; !ok {
				group[e] = len(group)
			}
		}
		if old, now := group[b], group[a]; old != now {
			for e, g := range group {
				if g == old {
					group[e] = now
				}
			}
		}
	}
	first, n := -1, len(topo.Hosts)+len(topo.Switches)
	for _, g := range group {
		if first < 0 {
			first = g
		}
		if g != first {
			t.Errorf("%s: not all is joined", topo.About)
			return
		}
	}
	if len(group) != n {
		t.Errorf("%s: cables reach %d of %d hosts and switches", topo.About, len(group), n)
	}
}

// TestRandom holds random topologies to what is said of them, and equal seeds to equal topologies.
func TestRandom(t *testing.T) {
	t.Parallel()
	s := fabric.Shape{Hosts: 4}
	for seed := range uint64(20) {
		for _, n := range []int{1, 2, 8, 16, 64} {
			topo, err := s.Random(n, seed)
			if err != nil {
				t.Fatal(err)
			}
			if err := topo.Check(); err != nil {
				t.Error(err)
			}
			reached(t, topo)
			pairs := make(map[[2]int]bool)
			for _, l := range topo.Links {
				a, b := l.Ends[0], l.Ends[1]
				if a.Host || b.Host {
					continue
				}
				pair := [2]int{min(a.Index, b.Index), max(a.Index, b.Index)}
				if pairs[pair] || a.Index == b.Index {
					t.Errorf("%s: two cables between %v", topo.About, pair)
				}
				pairs[pair] = true
			}
			if again, _ := s.Random(n, seed); again.String() != topo.String() {
				t.Errorf("%s differs from itself", topo.About)
			}
			if other, _ := s.Random(n, seed+1); n > 2 && other.String()[60:] == topo.String()[60:] {
				t.Errorf("%s is as with another seed", topo.About)
			}
		}
	}
}

// TestShapeLinks has the cables of a shape be what the shape says.
func TestShapeLinks(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 1, Length: 300, Rate: 12_500_000, Delay: 20 * ns}.FatTree(2, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range topo.Links {
		if l.Length != 300 || l.Rate.Time(1) != 12_500 || l.Delay != 20*ns {
			t.Errorf("%+v", l)
		}
	}
}

func TestShapeErrors(t *testing.T) {
	t.Parallel()
	for want, make := range map[string]func() (*fabric.Topology, error){
		"of 0 switches":                            func() (*fabric.Topology, error) { return fabric.Shape{}.Random(0, 1) },
		"needs 4 ports for hosts and 6":            func() (*fabric.Topology, error) { return fabric.Shape{Hosts: 4, Ports: 8}.Torus(3, 3, 3) },
		"a side has at least one":                  func() (*fabric.Topology, error) { return fabric.Shape{}.Mesh(3, 0) },
		"the arity is from 1 to 32":                func() (*fabric.Topology, error) { return fabric.Shape{}.FatTree(2, 0) },
		"more than":                                func() (*fabric.Topology, error) { return fabric.Shape{}.FatTree(30, 16) },
		"of sides [3 6148914691236517206]":         func() (*fabric.Topology, error) { return fabric.Shape{}.Mesh(3, 6148914691236517206) }, // 2, modulo 2^64
		"needs 9223372036854775807 ports":          func() (*fabric.Topology, error) { return fabric.Shape{Hosts: math.MaxInt}.Ring(4) },
		"of 4097 switches; there can be 1 to 4096": func() (*fabric.Topology, error) { return fabric.Shape{Hosts: 4}.Random(4097, 1) },
		"does not join them":                       func() (*fabric.Topology, error) { return fabric.Shape{Hosts: 8}.Random(4, 1) },
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
