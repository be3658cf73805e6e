package settings_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core/settings"
)

// params are variables of all kinds.
type params struct {
	depth, window, scan int
	bytes, most         int
	rate                float64
	gather, latency     time.Duration
	on, fence           bool
	address, hosts      string
	machine             string
}

func defaults() params {
	return params{depth: 64, window: 8, scan: 10, bytes: 64 << 10, most: math.MaxInt, rate: 1e9, gather: 10 * time.Microsecond, on: true, machine: "m1"}
}

func (p *params) table() settings.Table {
	*p = defaults()
	return settings.Table{
		settings.Int("depth", &p.depth, 1, 4096, ""),
		settings.PowerOfTwo("window", &p.window, 1, 1024, ""),
		settings.Int("scan", &p.scan, 1, math.MaxInt, "", settings.Is("off", 0)),
		settings.Size("bytes", &p.bytes, 512, 1<<20, ""),
		settings.Size("most", &p.most, 4096, math.MaxInt, "", settings.Is("none", math.MaxInt)),
		settings.Rate("rate", &p.rate, 1e3, 1e15, ""),
		settings.Time("gather", &p.gather, 1, settings.Forever, ""),
		settings.Time("latency", &p.latency, 0, time.Hour, "").OwnPerRank(),
		settings.Switch("on", &p.on, ""),
		settings.Choice("publish", &p.fence, "", settings.Is("store", false), settings.Is("fence", true)),
		settings.Text("address", &p.address, "an address", "").OwnPerRank(),
		settings.File("hosts", &p.hosts, ""),
		settings.NameOrFile("machine", &p.machine, func(v string) bool { return strings.Contains(v, "/") }, "a machine", ""),
		settings.Switch("cold", new(bool), "").Only(false, "it is summer"),
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]func(*params){
		"depth=1":        func(p *params) { p.depth = 1 },
		"depth=4096":     func(p *params) { p.depth = 4096 },
		"window=1024":    func(p *params) { p.window = 1024 },
		"scan=off":       func(p *params) { p.scan = 0 },
		"scan=7":         func(p *params) { p.scan = 7 },
		"bytes=1KB":      func(p *params) { p.bytes = 1024 },
		"most=none":      func(p *params) {},
		"most=1.5GB":     func(p *params) { p.most = 3 << 29 },
		"rate=2.5e6":     func(p *params) { p.rate = 2.5e6 },
		"gather=2.5s":    func(p *params) { p.gather = 2500 * time.Millisecond },
		"latency=0s":     func(p *params) {},
		"on=off":         func(p *params) { p.on = false },
		"on=no":          func(p *params) { p.on = false },
		"on=yes":         func(p *params) {},
		"publish=fence":  func(p *params) { p.fence = true },
		"address=1.2.3":  func(p *params) { p.address = "1.2.3" },
		"hosts=a/b":      func(p *params) { p.hosts = "a/b" },
		"machine=./mine": func(p *params) { p.machine = "./mine" },
	} {
		key, value, _ := strings.Cut(text, "=")
		var got params
		expected := defaults()
		want(&expected)
		if err := got.table().Read("c", map[string]string{key: value}); err != nil || got != expected {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, expected)
		}
	}
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"depth=0":     "want a whole number, 1 to 4096",
		"depth=4097":  "want a whole number, 1 to 4096",
		"depth=":      "want a whole number, 1 to 4096",
		"window=3":    "want a power of two, 1 to 1024",
		"window=-8":   "want a power of two, 1 to 1024",
		"scan=0":      "want a whole number, 1 or more, or off",
		"bytes=511":   "want a size such as 4096 or 64KB, 512 to 1MB",
		"bytes=50%":   "want a size such as 4096 or 64KB, 512 to 1MB",
		"most=1":      "want a size such as 4096 or 64KB, 4KB or more, or none",
		"rate=NaN":    "want a number such as 1.5e9, 1000 to 1e+15",
		"gather=0s":   "want a time such as 10us or 2.5s, 1ns or more",
		"gather=10":   "want a time such as 10us or 2.5s, 1ns or more",
		"latency=2h":  "want a time such as 10us or 2.5s, 0s to 1h",
		"on=maybe":    "want on or off",
		"publish=x":   "want store or fence",
		"address=":    "want an address",
		"hosts=":      "want the path of a file",
		"machine=":    "want a machine",
		"cold=on":     "it is summer",
		"dept=1":      "unknown; there are address, bytes, cold, depth, gather, hosts, latency, machine, most, on, publish, rate, scan, window",
		"near.depth=": "unknown; there are address, bytes, cold, depth, gather, hosts, latency, machine, most, on, publish, rate, scan, window",
	} {
		key, value, _ := strings.Cut(text, "=")
		var got params
		err := got.table().Read("c", map[string]string{key: value})
		if said := fmt.Sprintf("c: setting %s=%q: %s", key, value, want); err == nil || err.Error() != said {
			t.Errorf("%s: %v, want %s", text, err, said)
		}
		if got != defaults() {
			t.Errorf("%s: refused, and yet it changed %+v", text, got)
		}
	}
	err := settings.Table(nil).Read("c", map[string]string{"b": "1", "a": "2"})
	if err == nil || err.Error() != `c: setting a="2": unknown; there are none` {
		t.Errorf("no table: %v", err)
	}
}

// TestDefaults wants every default that is printed to be one that can be given, and to change nothing.
func TestDefaults(t *testing.T) {
	var p params
	for _, s := range p.table() {
		if s.Default == "" || s.Refused() != "" {
			continue
		}
		if err := p.table().Read("c", map[string]string{s.Key: s.Default}); err != nil || p != defaults() {
			t.Errorf("%v: %+v", err, p)
		}
	}
}

func TestDisagree(t *testing.T) {
	read := func(text ...string) (settings.Table, string) {
		values := make(map[string]string)
		for _, s := range text {
			key, value, _ := strings.Cut(s, "=")
			values[key] = value
		}
		table := new(params).table()
		if err := table.Read("c", values); err != nil {
			t.Fatal(err)
		}
		return table, table.Shared()
	}
	table, none := read()
	_, same := read("depth=64", "bytes=65536", "on=yes", "latency=3s", "address=a")
	if none != "" || same != none {
		t.Errorf("defaults, and what a rank may have of its own, come to %q and %q", none, same)
	}
	_, set := read("depth=5", "window=16")
	for _, c := range []struct{ mine, theirs, want string }{
		{none, none, ""}, {set, set, ""},
		{none, set, `c: setting depth="64": rank 3 has "5"; all ranks must have the same`},
		{set, none, `c: setting depth="5": rank 3 has "64"; all ranks must have the same`},
	} {
		err := table.Disagree("c", c.mine, c.theirs, 3)
		if text := fmt.Sprint(err); (err == nil) != (c.want == "") || err != nil && text != c.want {
			t.Errorf("%q, %q: %v, want %q", c.mine, c.theirs, err, c.want)
		}
	}
}

func TestParts(t *testing.T) {
	var p params
	own := p.table()[:1:1]
	whole := append(own, new(params).table().Prefixed("near")...)
	values := map[string]string{"depth": "2", "near.depth": "3", "near.hosts": "h"}
	if err := whole.Read("c", values); err != nil || p.depth != 2 {
		t.Errorf("%v, depth %d", err, p.depth)
	}
	if part := settings.Part("near", values); !maps.Equal(part, map[string]string{"depth": "3", "hosts": "h"}) {
		t.Errorf("the part has %v", part)
	}
	if rest := own.Without(values); !reflect.DeepEqual(rest, map[string]string{"near.depth": "3", "near.hosts": "h"}) {
		t.Errorf("besides its own there are %v", rest)
	}
	err := whole.Read("c", map[string]string{"near.depth": "0"})
	if e := new(settings.Error); !errors.As(err, &e) || *e != (settings.Error{Conduit: "c", Key: "near.depth", Value: "0", Why: "want a whole number, 1 to 4096"}) {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]bool{"near.hosts=x": true, "near.machine=m1": false, "near.machine=./m": true, "depth=1": false, "hosts=x": false} {
		key, value, _ := strings.Cut(text, "=")
		if whole.IsFile(key, value) != want {
			t.Errorf("%s is a file: %v", text, !want)
		}
	}
}
