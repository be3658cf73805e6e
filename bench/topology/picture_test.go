package topology_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/topology"
)

func draw(t *testing.T, p topology.Plan) string {
	t.Helper()
	picture, err := p.Make()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := picture(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wellFormed makes sure that a document is one.
func wellFormed(t *testing.T, document string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPicture draws the route of figure 1 of Coll et al. and the traffic beside it, with a host that nobody reaches: a document
// that is well-formed, with all that there is.
func TestPicture(t *testing.T) {
	t.Parallel()
	figure1, err := os.ReadFile("../../conduits/myrinet/routing/testdata/figure1.topology")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "figure1")
	if err := os.WriteFile(file, append(figure1, "host alone\n"...), 0o666); err != nil {
		t.Fatal(err)
	}
	p := topology.Plan{Topology: file, Scheme: "in-transit", Root: "0", Route: "h4,h1", Size: 256, Machine: "myrinet"}
	got := draw(t, p)
	if again := draw(t, p); again != got {
		t.Error("drawn twice, it differs")
	}
	wellFormed(t, got)
	for what, n := range map[string]int{
		`class="route"`:             6, // two cables of hosts twice, and two between switches
		`class="transit"`:           1,
		`class="up"`:                5, // one for each link between switches
		`stroke-width="2.6"`:        8, // both channels of four links of the tree
		"in transit":                1,
		"busy ":                     2*10 + 1,
		"h6, in transit":            1,
		"through 4 switches, by h6": 1,
	} {
		// The note and the title of the host in transit say more of the route.
		if got := strings.Count(got, what); got < n {
			t.Errorf("%q is there %d times, want %d", what, got, n)
		}
	}
	p.Scheme = "up*/down*"
	if got := draw(t, p); strings.Contains(got, `class="transit"`) || !strings.Contains(got, "From h4 to h1 through 4 switches. ") {
		t.Error("up*/down* has a host in transit, or another way")
	}
}

// TestOddHosts draws no host straight below its switch, where the link to the next row is: one host, or three.
func TestOddHosts(t *testing.T) {
	t.Parallel()
	for _, hosts := range []int{1, 3} {
		got := draw(t, topology.Plan{Topology: "ring:5", Hosts: hosts, Scheme: "up*/down*", Machine: "myrinet", Route: "h0,h1"})
		columns := map[string]bool{}
		for _, s := range regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>s[0-4]<`).FindAllStringSubmatch(got, -1) {
			columns[s[1]] = true
		}
		circles := regexp.MustCompile(`<circle cx="([0-9.]+)"`).FindAllStringSubmatch(got, -1)
		if len(columns) != 3 || len(circles) != 5*hosts {
			t.Fatalf("%d hosts a switch: columns %v, %d hosts", hosts, columns, len(circles))
		}
		for _, c := range circles {
			if columns[c[1]] {
				t.Errorf("%d hosts a switch: one is below its switch at %s", hosts, c[1])
			}
		}
		if want := map[int]string{1: "through 2 switches.", 3: "through 1 switch."}[hosts]; !strings.Contains(got, want) {
			t.Errorf("%d hosts a switch: no %q", hosts, want)
		}
	}
}

// TestEscape draws a topology whose file says what XML cannot have.
func TestEscape(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "odd")
	if err := os.WriteFile(file, []byte("about <a> & \"b\" \x01\xff\nswitch s0 8 SAN\nhost h0 s0:0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, draw(t, topology.Plan{Topology: file, Scheme: "up*/down*", Machine: "myrinet"}))
}

// TestShapes draws a topology of each shape, and writes one as text.
func TestShapes(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"line:3", "ring:4", "mesh:3x2", "torus:3x3", "fat-tree:2x3", "random:12"} {
		if got := draw(t, topology.Plan{Topology: shape, Hosts: 2, Scheme: "up*/down*", Machine: "myrinet"}); !strings.HasSuffix(got, "</svg>\n") {
			t.Errorf("%s: %s", shape, got)
		}
	}
	if got := draw(t, topology.Plan{Topology: "line:1", Hosts: 1, Scheme: "up*/down*", Machine: "myrinet", Text: true}); !strings.Contains(got, "switch s0 8 SAN\nhost h0\nlink h0 s0:0 10.00 m") {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	good := topology.Plan{Topology: "ring:4", Hosts: 1, Scheme: "up*/down*", Machine: "myrinet"}
	for want, change := range map[string]func(*topology.Plan){
		"no such file":                     func(p *topology.Plan) { p.Topology = "nothing" },
		`"star:4" is no shape`:             func(p *topology.Plan) { p.Topology = "star:4" },
		`"a" is no number`:                 func(p *topology.Plan) { p.Topology = "mesh:a" },
		"of 0 switches; there can be 1 to": func(p *topology.Plan) { p.Topology = "random:0" },
		"4096 hosts cannot be drawn":       func(p *topology.Plan) { p.Topology = "mesh:64x64" },
		`no routes are called "best"`:      func(p *topology.Plan) { p.Scheme = "best" },
		`no switch is called "s9"`:         func(p *topology.Plan) { p.Root = "s9" },
		`no host is called "x"`:            func(p *topology.Plan) { p.Route = "x,h1" },
		`no host is called ""`:             func(p *topology.Plan) { p.Route = "h1" },
		"no route leads from h1 to h1":     func(p *topology.Plan) { p.Route = "h1,h1" },
		"packets of -1 bytes":              func(p *topology.Plan) { p.Size = -1 },
		`no machine is called "ethernet"`:  func(p *topology.Plan) { p.Size, p.Machine = 1, "ethernet" },
	} {
		p := good
		change(&p)
		if _, err := p.Make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
