package aqueduct_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/core/record/recordtest"
	"github.com/aqueduct-go/aqueduct/extended"
)

// The traffic of every rank to every other in the jobs below.
const (
	watchedShorts  = 5
	watchedMediums = 3
	watchedBytes   = 100 // of each medium
	watchedPuts    = 7
)

// traffic sends what the constants say. Each request is answered by a short.
func traffic(job *core.Job) error {
	answered := 0
	handlers := []core.HandlerEntry{
		{Index: 200, Name: "ask", Func: func(t *core.Token, _ []uint32, _ []byte) { t.ReplyShort(201) }},
		{Index: 201, Func: func(*core.Token, []uint32, []byte) { answered++ }},
	}
	ep, err := extended.Attach(job, core.AttachSpec{Handlers: handlers})
	if err != nil {
		return err
	}
	c := ep.Core()
	for to := range core.Rank(job.Size()) {
		for range watchedShorts {
			if err := c.RequestShort(to, 200); err != nil {
				return err
			}
		}
		for range watchedMediums {
			if err := c.RequestMedium(to, 200, make([]byte, watchedBytes)); err != nil {
				return err
			}
		}
		for range watchedPuts {
			if err := ep.Put(to, uint64(8*job.Rank()), make([]byte, 8)); err != nil {
				return err
			}
		}
	}
	if err := c.WaitUntil(func() bool { return answered == job.Size()*(watchedShorts+watchedMediums) }); err != nil {
		return err
	}
	var both [2]extended.Event // calls that overlap
	for i := range both {
		if both[i], err = ep.World().BarrierNB(&ep.Context); err != nil {
			return err
		}
	}
	if err := ep.WaitAll(both[:]); err != nil {
		return err
	}
	return ep.World().Barrier(&ep.Context)
}

// lines reads lines of JSON.
func lines(t *testing.T, path string) (all []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// sum adds a field of the lines that have the given others.
func sum(all []map[string]any, field string, where map[string]any) (n int) {
lines:
	for _, v := range all {
		for k, want := range where {
			if fmt.Sprint(v[k]) != fmt.Sprint(want) {
				continue lines
			}
		}
		x, _ := v[field].(float64)
		n += int(x)
	}
	return n
}

// TestStatsAreExact compares what was counted with what was sent, and holds the trace against the rules of its format.
func TestStatsAreExact(t *testing.T) {
	for name, c := range map[string]struct {
		opt  aqueduct.Option
		more []aqueduct.Option
	}{
		"loopback":       {aqueduct.Goroutines(3), []aqueduct.Option{aqueduct.Conduit("loopback")}},
		"sci":            {aqueduct.Goroutines(3), []aqueduct.Option{aqueduct.Conduit("sci")}},
		"sci single":     {aqueduct.Goroutines(3), []aqueduct.Option{aqueduct.Conduit("sci"), aqueduct.Single()}},
		"udp":            {aqueduct.Goroutines(3), []aqueduct.Option{aqueduct.Conduit("udp")}},
		"loopback model": {aqueduct.Model("loopback", 3), nil},
		"sci model":      {aqueduct.Model("sci", 3), nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			stats, trace := filepath.Join(dir, "job.jsonl"), filepath.Join(dir, "job.json")
			t.Setenv("AQUEDUCT_STATS", stats)
			t.Setenv("AQUEDUCT_TRACE", trace)
			if err := aqueduct.Launch(traffic, append([]aqueduct.Option{c.opt}, c.more...)...); err != nil {
				t.Fatal(err)
			}
			all := lines(t, stats)
			const ranks, requests = 3, watchedShorts + watchedMediums
			puts := sum(all, "count", map[string]any{"kind": "handler", "name": "put"}) // by messages, by the network, or in place
			for _, category := range []string{"put", "put in place"} {
				puts += sum(all, "count", map[string]any{"kind": "operation", "category": category})
			}
			if puts != ranks*ranks*watchedPuts {
				t.Errorf("%d puts", puts)
			}
			for from := range ranks {
				for to := range ranks {
					if n := sum(all, "messages", map[string]any{"kind": "matrix", "from": from, "to": to}); n < 2*requests+1 {
						t.Errorf("%d messages and operations from %d to %d", n, from, to)
					}
				}
			}
			ask := map[string]any{"kind": "handler", "name": "ask"}
			if n, b := sum(all, "count", ask), sum(all, "bytes", ask); n != ranks*ranks*requests || b != ranks*ranks*watchedMediums*watchedBytes {
				t.Errorf("handler ask: %d messages of %d bytes", n, b)
			}
			unnamed := map[string]any{"kind": "handler", "name": "aqueduct_test.traffic.func2"}
			if n := sum(all, "count", unnamed); n != ranks*ranks*requests {
				t.Errorf("the handler without a name: %d messages", n)
			}
			if n := sum(all, "count", map[string]any{"kind": "collective", "name": "split-phase barrier"}); n < ranks {
				t.Errorf("%d barriers", n)
			}
			if n, m := sum(all, "sent", map[string]any{"kind": "rank"}), sum(all, "received", map[string]any{"kind": "rank"}); n != m || n < 2*ranks*ranks*requests {
				t.Errorf("%d messages were sent, and %d received", n, m)
			}
			text, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			found, err := recordtest.CheckTrace(text)
			if err != nil {
				t.Fatal(err)
			}
			if n := sum(all, "received", map[string]any{"kind": "rank"}); found.Flows != n || found.Dropped != 0 || found.Names["handler ask"] != ranks*ranks*requests || found.Names["wait WaitUntil"] != ranks {
				t.Errorf("the trace has %+v, and %d messages were received", found, n)
			}
			spans := 0
			for name, n := range found.Names {
				if strings.HasPrefix(name, "collective ") {
					spans += n
				}
			}
			if n := sum(all, "count", map[string]any{"kind": "collective"}); n < 3*ranks || spans != n || found.Lasting != n {
				t.Errorf("%d collective calls were counted; the trace has %d, of which %d take time", n, spans, found.Lasting)
			}
		})
	}
}

// TestStatsOfModel: two runs give the same to the digit.
func TestStatsOfModel(t *testing.T) {
	var last [2][]byte
	for run := range 2 {
		dir := t.TempDir()
		stats, trace := filepath.Join(dir, "job.jsonl"), filepath.Join(dir, "job.json")
		t.Setenv("AQUEDUCT_STATS", stats)
		t.Setenv("AQUEDUCT_TRACE", trace)
		if err := aqueduct.Launch(traffic, aqueduct.Model("sci", 3)); err != nil {
			t.Fatal(err)
		}
		for i, path := range []string{stats, trace} {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if run > 0 && !bytes.Equal(text, last[i]) {
				t.Errorf("%s differs between two runs", filepath.Base(path))
			}
			last[i] = text
		}
	}
}

// TestTraceIsBounded: each rank keeps the latest events, and what is left out is told; both ends of a message are sampled alike.
func TestTraceIsBounded(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "job.json")
	t.Setenv("AQUEDUCT_TRACE", trace)
	check := func() *recordtest.Trace {
		t.Helper()
		if err := aqueduct.Launch(traffic, aqueduct.Goroutines(3), aqueduct.Conduit("sci")); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		found, err := recordtest.CheckTrace(text)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	t.Setenv("AQUEDUCT_TRACE_EVENTS", "10")
	if found := check(); found.Slices > 30 || found.Dropped == 0 {
		t.Errorf("with room for 10 events a rank: %+v", found)
	}
	t.Setenv("AQUEDUCT_TRACE_EVENTS", "")
	t.Setenv("AQUEDUCT_TRACE_SAMPLE", "4")
	if found := check(); found.Names["handler ask"] != 9*(2+1) || found.Names["send ask"] != 9*(2+1) { // 5 shorts, and 3 mediums
		t.Errorf("of every fourth message: %+v", found)
	}
}

// TestStatsOfGoroutines: goroutines of a rank that send at once lose no count.
func TestStatsOfGoroutines(t *testing.T) {
	stats := filepath.Join(t.TempDir(), "job.jsonl")
	t.Setenv("AQUEDUCT_STATS", stats)
	const workers, each = 16, 50
	err := aqueduct.Launch(func(job *core.Job) error {
		handlers := []core.HandlerEntry{{Index: 200, Name: "ask", Func: func(t *core.Token, args []uint32, _ []byte) { t.ReplyShort(201, args...) }},
			{Index: 201, Name: "told", Func: func(_ *core.Token, args []uint32, _ []byte) {}}}
		ep, err := job.Attach(core.AttachSpec{Handlers: handlers})
		if err != nil {
			return err
		}
		var all sync.WaitGroup
		for range workers {
			c := ep.NewContext()
			all.Go(func() {
				for range each {
					if err := c.RequestMedium(1-job.Rank(), 200, make([]byte, 10), 0); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		return ep.Barrier()
	}, aqueduct.Goroutines(2), aqueduct.Conduit("sci"))
	if err != nil {
		t.Fatal(err)
	}
	all := lines(t, stats)
	if n, b := sum(all, "count", map[string]any{"name": "ask"}), sum(all, "bytes", map[string]any{"name": "ask"}); n != 2*workers*each || b != 20*workers*each {
		t.Errorf("%d messages of %d bytes", n, b)
	}
}

// TestWatchAllocatesNothing: a message of a job with figures allocates as much as one without: nothing.
func TestWatchAllocatesNothing(t *testing.T) {
	for _, stats := range []bool{false, true} {
		cfg := core.Config{Conduit: "sci", Stats: stats, Records: func([][]byte) {}}
		err := core.RunGoroutines(1, cfg, func(job *core.Job) error {
			got := 0
			ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{Index: 200, Func: func(*core.Token, []uint32, []byte) { got++ }}}})
			if err != nil {
				return err
			}
			want, there := 0, func() bool { return false }
			there = func() bool { return got >= want }
			if n := testing.AllocsPerRun(1000, func() {
				want++
				if err := ep.RequestShort(0, 200); err != nil {
					t.Error(err)
				}
				if err := ep.WaitUntil(there); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("with figures %v: %v allocations a message", stats, n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkWatch is a round trip of a rank to itself, of two shorts and a wait, all by one thread: what figures cost shows in
// full, and the machine's other CPUs do not matter.
func BenchmarkWatch(b *testing.B) {
	for _, stats := range []bool{false, true} {
		b.Run(fmt.Sprintf("stats=%v", stats), func(b *testing.B) {
			cfg := core.Config{Conduit: "sci", Threads: core.Single, Stats: stats, Records: func([][]byte) {}}
			err := core.RunGoroutines(1, cfg, func(job *core.Job) error {
				got := 0
				ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
					{Index: 200, Func: func(t *core.Token, _ []uint32, _ []byte) { t.ReplyShort(201) }},
					{Index: 201, Func: func(*core.Token, []uint32, []byte) { got++ }},
				}})
				for i := 1; err == nil && b.Loop(); i++ {
					if err = ep.RequestShort(0, 200); err == nil {
						err = ep.WaitUntil(func() bool { return got >= i })
					}
				}
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// TestFailedJobHasStats: the records of a job that fails are there, of the rank that has failed too.
func TestFailedJobHasStats(t *testing.T) {
	for name, run := range map[string]func(cfg core.Config, body func(*core.Job) error) error{
		"goroutines": func(cfg core.Config, body func(*core.Job) error) error { return core.RunGoroutines(3, cfg, body) },
		"model": func(cfg core.Config, body func(*core.Job) error) error {
			cfg.Conduit = "loopback"
			return core.RunModel(3, cfg, body)
		},
	} {
		var records [][]byte
		err := run(core.Config{Conduit: "sci", Stats: true, Records: func(r [][]byte) { records = r }}, func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{})
			if err != nil {
				return err
			}
			if err := ep.Barrier(); err != nil || job.Rank() == 1 {
				return fmt.Errorf("rank 1 has had enough (%v)", err)
			}
			return ep.WaitUntil(func() bool { return false })
		})
		if err == nil || len(records) != 3 {
			t.Fatalf("%s: %v, and %d records", name, err, len(records))
		}
		for rank, b := range records {
			r, err := record.Decode(b, rank, 3)
			if err != nil || r.Figures.Sent() == 0 {
				t.Errorf("%s: rank %d: %v\n%s", name, rank, err, b)
			}
		}
	}
}
