package loopback_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// TestMaxSegment attaches under a limit of a MB.
func TestMaxSegment(t *testing.T) {
	const limit = 1 << 20
	for _, c := range []struct {
		name, max, segment string
		extra              int
		program            int      // bytes
		want               []string // in the error
	}{
		{name: "the default is clipped", max: "1MB", program: limit},
		{name: "nothing extra where nobody reaches it", max: "1MB", extra: 4 << 20, program: limit},
		{name: "as much as there is", max: "1MB", segment: "1MB", program: limit},
		{name: "too much", max: "1MB", segment: "1048577", want: []string{"a segment of 1048577 bytes", "conduit loopback leaves a program at most 1048576", "by --segment (AQUEDUCT_SEGMENT)"}},
		{name: "not a size", max: "few", want: []string{"max-segment", `"few"`}},
		{name: "less than a page", max: "100", want: []string{"max-segment", "4KB or more"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := core.Config{Conduit: "loopback", Segment: c.segment, Settings: map[string]string{"max-segment": c.max}}
			err := core.RunGoroutines(2, cfg, func(j *core.Job) error {
				ep, err := j.Attach(core.AttachSpec{Extra: c.extra})
				if err != nil {
					return err
				}
				if n := len(ep.Segment()); ep.Extra() != 0 || n != c.program || ep.SegmentSize(1-ep.Rank()) != n {
					t.Errorf("segment of %d bytes, %d of them extra; want %d and %d", n, ep.Extra(), c.program, 0)
				}
				return nil
			})
			if (err == nil) != (c.want == nil) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %v does not say %q", err, w)
				}
			}
		})
	}
}

// apart is the bootstrap of two ranks that share no process.
type apart struct{ core.Bootstrap }

// TestProcesses asks whether ranks that are processes can use the conduit: no, and what to do.
func TestProcesses(t *testing.T) {
	d, err := core.DriverByName("loopback")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(apart{}, []core.Rank{0, 1}); err == nil || !strings.Contains(err.Error(), "these 2 ranks are processes; start them by aqrun --goroutines") {
		t.Errorf("error %v", err)
	}
}

// TestSettings has what is wrong with a setting told.
func TestSettings(t *testing.T) {
	for setting, want := range map[string]string{
		"operations=0":     "want a whole number, 1 to 1048576",
		"operations=x":     "want a whole number, 1 to 1048576",
		"native-least=0":   "want a size such as 4096 or 64KB, 1 or more",
		"native-most=7":    "want a size such as 4096 or 64KB, 8 or more",
		"native-most=much": "want a size such as",
		"latency=-1s":      "want a time such as 10us or 2.5s, 0s to 1h",
		"rate=0":           "want a number such as 1.5e9, 1000 to 1e+15",
		"depth=0":          "want a whole number, 1 to 1048576",
		"depht=1":          `core: rank 0: loopback: setting depht="1": unknown; there are depth, latency, max-segment, native-least, native-most, operations, rate`,
		"native-least=8MB": "more than native-most, so that every transfer would be declined",
	} {
		refuses(t, "native", setting, want)
	}
	// What only profile native has means nothing elsewhere.
	for _, setting := range []string{"operations=8", "native-least=8", "native-most=8"} {
		refuses(t, "default", setting, "only profile native moves data by itself")
	}
}

// refuses runs a job with a setting that is to be refused, with want among the words.
func refuses(t *testing.T, profile, setting, want string) {
	t.Helper()
	key, value, _ := strings.Cut(setting, "=")
	cfg := core.Config{Conduit: "loopback", Profile: profile, Settings: map[string]string{key: value}}
	err := core.RunGoroutines(1, cfg, func(j *core.Job) error {
		_, err := j.Attach(core.AttachSpec{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "loopback: setting "+key) {
		t.Errorf("%s, profile %s: error %v, want %q", setting, profile, err, want)
	}
}

// TestNativeTimes has one-sided operations of the model take the time that the README says:
// bytes on the link at 1 GB/s and a microsecond each way.
func TestNativeTimes(t *testing.T) {
	cfg := core.Config{Conduit: "loopback", Profile: "native", Segment: "64KB"}
	const µs = core.Time(1e6)
	err := core.RunModel(2, cfg, func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{})
		if err != nil || j.Rank() == 1 {
			return err
		}
		var done core.Completion
		buf, word := make([]byte, 4992), make([]byte, 8)
		for name, x := range map[string]struct {
			begin func() (core.Result, error)
			want  core.Time
		}{
			"put": {func() (core.Result, error) { return ep.PutNative(1, 0, buf, nil, &done) }, 5*µs + 2*µs},
			"get": {func() (core.Result, error) { return ep.GetNative(buf, 1, 0, &done) }, 5*µs + 2*µs + 8000},
			"fetch-add": {func() (core.Result, error) {
				return ep.AtomicNative(1, 0, core.ElementUint64, core.AtomicAdd<<core.FetchShift, 1, 0, word, &done)
			}, 2*µs + 24000},
		} {
			start := j.Now()
			if _, err := x.begin(); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return done.Pending() == 0 }); err != nil {
				return err
			}
			if took := j.Now() - start; took < x.want || took > x.want+10000 { // a poll takes 5 ns
				t.Errorf("%s took %v, want %v and the rest of a poll", name, took, x.want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
