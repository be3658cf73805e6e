package against_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/bench/runner/runnertest"
)

// operations call every method of References.
var operations = map[string]func(r against.References, size, iters int) []runner.Ref{
	"round trip of a short": func(r against.References, _, iters int) []runner.Ref { return r.RoundTrip(0, iters) },
	"round trip":            against.References.RoundTrip,
	"flood":                 func(r against.References, _, iters int) []runner.Ref { return r.Flood(iters) },
	"stream":                against.References.Stream,
	"bandwidth":             against.References.Bandwidth,
	"exchange":              func(r against.References, _, iters int) []runner.Ref { return r.Exchange(3, iters) },
	"put":                   against.References.Put,
	"put-nb":                against.References.PutNB,
	"get":                   against.References.Get,
	"get-nb":                against.References.GetNB,
	"fetchadd":              func(r against.References, _, iters int) []runner.Ref { return r.FetchAdd(iters) },
	"pair barrier":          func(r against.References, _, iters int) []runner.Ref { return r.PairBarrier(iters) },
	"barrier":               func(r against.References, _, iters int) []runner.Ref { return r.Barrier(3, iters) },
}

// withoutTools hides the tools that may be installed, but not the compiled floors, or skips
// the test where there are none.
func withoutTools(t *testing.T) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("CC", cc)
	if _, err := floor.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
}

// TestFor wants each operation compared with its own floor, by the conduit's network.
func TestFor(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // without tools
	for _, c := range []struct {
		conduit, op string
		size        int
		units       string
		floor       string // part of what x-floor is
	}{
		{"sci", "round trip of a short", 0, "x-floor x-handoff", "flag ping-pong"},
		{"sci", "round trip", 8, "x-floor", "echo"},
		{"sci", "flood", 0, "x-floor", "ring"},
		{"sci", "stream", 8, "x-floor", "copy in and copy out"},
		{"sci", "bandwidth", 8, "x-floor", "into a mapping"},
		{"sci", "put-nb", 8, "x-floor", "into a mapping"},
		{"sci", "get", 8, "x-floor", "out of a mapping"},
		{"sci", "fetchadd", 8, "x-floor", "word of a mapping"},
		{"sci", "pair barrier", 0, "x-floor", "flag ping-pong"},
		{"mpi", "barrier", 0, "x-floor", "barrier of as many"},
		{"udp", "round trip of a short", 0, "x-floor x-tcp x-shared x-blocking", "ping-pong over UDP"},
		{"udp", "round trip", 8, "x-floor x-tcp", "ping-pong over UDP"},
		{"udp", "flood", 0, "x-floor x-tcp x-sendto", "segmentation offload"},
		{"udp", "stream", 8, "x-floor x-tcp", "segmentation offload"},
		{"udp", "stream", floor.MaxSegment / 2, "x-floor x-tcp", "segmentation offload"},
		{"udp", "stream", floor.MaxSegment/2 + 1, "x-floor x-tcp", "datagrams of at most 60 KiB"},
		{"udp", "bandwidth", 1 << 20, "x-floor x-tcp", "datagrams of at most 60 KiB"},
		{"udp", "exchange", 0, "x-floor", "barrier over UDP"},
		{"udp", "put", 1 << 20, "x-floor x-tcp", "ping-pong over UDP"},
		{"udp", "put-nb", 1 << 20, "x-floor x-tcp", "datagrams of at most 60 KiB"},
		{"udp", "get", 1 << 20, "x-floor x-tcp", "ping-pong over UDP"},
		{"udp", "get-nb", 1 << 20, "x-floor x-tcp", "datagrams of at most 60 KiB"},
		{"udp", "fetchadd", 8, "x-floor x-tcp", "ping-pong over UDP"},
		{"udp", "pair barrier", 0, "x-floor x-tcp", "ping-pong over UDP"},
		{"udp", "barrier", 0, "x-floor", "barrier over UDP"},
	} {
		var units []string
		bound := ""
		for _, ref := range operations[c.op](against.For(&runner.Plan{Conduit: c.conduit, CPUs: []int{0, 1}}), c.size, 10) {
			if ref.Unit != "" {
				units = append(units, ref.Unit)
			}
			if ref.Unit == "x-floor" {
				bound = ref.What
			}
		}
		if got := strings.Join(units, " "); got != c.units || !strings.Contains(bound, c.floor) {
			t.Errorf("%s, %s of %d bytes: %s, x-floor against %q; want %s, %q", c.conduit, c.op, c.size, got, bound, c.units, c.floor)
		}
	}
}

// TestSamples takes a sample of everything, once of what several operations have.
func TestSamples(t *testing.T) {
	withoutTools(t)
	for conduit, sizes := range map[string][]int{"sci": {8}, "udp": {8, 70_000}} {
		plan := runnertest.Pinned(t, runner.Plan{Conduit: conduit})
		for _, size := range sizes {
			sampled := map[string]bool{}
			for op, refs := range operations {
				for _, ref := range refs(against.For(&plan), size, 20) {
					if !sampled[ref.What] {
						sample(t, conduit+" "+op, ref)
					}
					sampled[ref.What] = true
				}
			}
		}
	}
}

// sample takes a sample of a reference, which must be here.
func sample(t *testing.T, op string, ref runner.Ref) {
	t.Helper()
	meter, closer, err := ref.Open(t.Context())
	if err != nil || meter == nil {
		t.Errorf("%s, %s: no meter, %v", op, ref.What, err)
		return
	}
	if closer != nil {
		defer closer.Close()
	}
	if ns, err := meter(); err != nil || !(ns > 0) {
		t.Errorf("%s, %s: %v ns, %v", op, ref.What, ns, err)
	}
}

// TestUnpinned wants nothing started where ranks are not pinned.
func TestUnpinned(t *testing.T) {
	for _, conduit := range []string{"sci", "udp"} {
		for op, refs := range operations {
			for _, ref := range refs(against.For(&runner.Plan{Conduit: conduit}), 8, 10) {
				if meter, closer, err := ref.Open(t.Context()); meter != nil || closer != nil || err != nil {
					t.Errorf("%s, %s: %s started: %v", conduit, op, ref.Unit, err)
				}
			}
		}
	}
}

// TestTools wants the tools of the network described, and only those.
func TestTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got := against.Tools(against.NetworkOf("sci")); got != nil {
		t.Errorf("tools of shared memory: %v", got)
	}
	text := runner.Describe(against.Tools(against.NetworkOf("udp")))
	for _, want := range []string{"x-libfabric no: fi_pingpong", "x-ucx no: ucx_perftest", "x-iperf3 no: iperf3", "apt-get install"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// script installs a program under a tool's name. In it, "$at" is a directory of its own.
func script(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	text = "#!/bin/sh\nat='" + dir + "'\n" + text
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// serving is a script that as a server listens, here by making a fifo, and as a client fails
// as long as nobody does.
const serving = `
for last; do :; done
if [ "$last" != 127.0.0.1 ]; then
	mkfifo "$at/listening"
	exec cat "$at/listening"
fi
[ -p "$at/listening" ] || { echo refused; exit 1; }
`

// TestToolRuns wants the figures of a tool, whose server may take its time.
func TestToolRuns(t *testing.T) {
	plan := runnertest.Pinned(t, runner.Plan{Conduit: "udp"})
	script(t, "fi_pingpong", serving+`
echo "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec"
echo "8       20      =20      320         0.00s      1.35      4.5         0.02"
rm "$at/listening"`)
	ref := toolRef(t, &plan, "x-libfabric")
	meter, _, err := ref.Open(t.Context())
	if err != nil || meter == nil {
		t.Fatalf("no meter: %v", err)
	}
	if ns, err := meter(); ns != 9000 || err != nil { // 4.5 µs there, and as much back
		t.Errorf("%v ns, %v; want 9000", ns, err)
	}
}

// TestToolFails wants a tool left out that cannot do what it should.
func TestToolFails(t *testing.T) {
	plan := runnertest.Pinned(t, runner.Plan{Conduit: "udp"})
	for name, text := range map[string]string{
		"server ends": "exit 1",
		"no figures":  serving + "echo nothing",
		"no time":     serving + "echo usec/xfer; echo 0",
	} {
		script(t, "fi_pingpong", text)
		ref := toolRef(t, &plan, "x-libfabric")
		if meter, _, err := ref.Open(t.Context()); meter != nil || err != nil {
			t.Errorf("%s: a meter, or error %v", name, err)
		}
	}
}

// toolRef returns the reference of a round trip by a tool.
func toolRef(t *testing.T, p *runner.Plan, unit string) runner.Ref {
	t.Helper()
	refs := against.For(p).RoundTrip(8, 20)
	i := slices.IndexFunc(refs, func(r runner.Ref) bool { return r.Unit == unit })
	if i < 0 {
		t.Fatalf("no %s among %d references", unit, len(refs))
	}
	return refs[i]
}

// TestInstalledTools measures with each of the tools that are installed, small and large messages of
// every pattern.
func TestInstalledTools(t *testing.T) {
	plan := runnertest.Pinned(t, runner.Plan{Conduit: "udp"})
	for _, tool := range against.Tools(against.Loopback) {
		t.Run(tool.Unit, func(t *testing.T) {
			if tool.Missing != "" {
				t.Skip(tool.Missing)
			}
			sampled := 0
			for _, op := range []string{"round trip", "stream", "put-nb"} {
				for _, size := range []int{4096, 64 << 10} {
					for _, ref := range operations[op](against.For(&plan), size, 20) {
						if ref.Unit == tool.Unit {
							sample(t, op, ref)
							sampled++
						}
					}
				}
			}
			if sampled == 0 {
				t.Error("compared with nothing")
			}
		})
	}
}
