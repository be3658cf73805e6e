package conduit_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily/amii"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// sleeping is a job over amii whose ranks sleep while they wait.
func sleeping(t testing.TB, lines string) core.Config {
	cfg := on(t, "amii", lines)
	cfg.Settings = map[string]string{"wait": "sleep"}
	return cfg
}

// TestBulk has Longs go by AM-II's bulk: as fast as that by itself, in fragments of any size, and so Longs of Mediums' size do.
func TestBulk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines string
		size  int
	}{
		{"", 8 << 10},
		{"", 1 << 20},
		{"am2.fragment 4096 B assumed for the test", 8 << 10},
		{"host.copy 60 MB/s assumed for the test", 8 << 10}, // still no bottleneck, unless the payload is copied twice at an end
	} {
		cfg := on(t, "amii", c.lines)
		cfg.Segment = "1MB"
		if cfg.Profile == "" {
			cfg.Profile = "now-lanai4"
		}
		p, err := amii.Load(cfg.Profile)
		if err != nil {
			t.Fatal(err)
		}
		const warm, cool = 16, 16
		messages := max(8, min(100, 8<<20/c.size))
		want, _, err := amii.Bulk(p, 1, c.size, messages)
		if err != nil {
			t.Fatal(err)
		}
		var first, last core.Time
		err = core.RunModel(2, cfg, func(j *core.Job) error {
			told := 0
			ep, err := j.Attach(core.AttachSpec{Segment: cfg.Segment, Handlers: []core.HandlerEntry{
				{Index: onTell, Func: func(*core.Token, []uint32, []byte) {
					switch told++; told {
					case warm:
						first = j.Now()
					case warm + messages:
						last = j.Now()
					}
				}},
			}})
			if err != nil {
				return err
			}
			if j.Rank() == 1 {
				return ep.WaitUntil(func() bool { return told == warm+messages+cool })
			}
			data := make([]byte, c.size)
			for range warm + messages + cool {
				if err := ep.RequestLong(1, onTell, data, 0); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := (last - first) / core.Time(messages); float64(got) > 1.01*float64(want) || float64(got) < 0.99*float64(want) {
			t.Errorf("with %q a Long of %d bytes takes %v in a stream; bulk takes %v", c.lines, c.size, got, want)
		}
	}
}

// TestLongs has the largest Longs, with all arguments and with none, there and back, come to their places, though the receiver computes when they
// come, the staging area overflows, and the network loses packets.
func TestLongs(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{"", lossy, "am2.staging 1 count assumed for the test\nam2.descriptor 32 B assumed for the test"} {
		cfg := on(t, "amii", lines)
		cfg.Segment = "3MB"
		err := coretest.Twice(t, 2, cfg, func(j *core.Job) error {
			answers := 0
			check := func(where string, args []uint32, data []byte) {
				if len(data) != int(args[0]) || len(bytes.Trim(data, string([]byte{byte(args[1])}))) > 0 {
					t.Errorf("%s: %d bytes, %v", where, len(data), args)
				}
				for i := 2; i < len(args); i++ {
					if args[i] != uint32(i) {
						t.Errorf("%s: argument %d is %d", where, i, args[i])
					}
				}
			}
			ep, err := j.Attach(core.AttachSpec{Segment: cfg.Segment, Handlers: []core.HandlerEntry{
				{Index: onAsk, Func: func(tok *core.Token, args []uint32, data []byte) {
					check("request", args, data)
					if err := tok.ReplyLong(onAnswer, data, 2<<20, args...); err != nil {
						t.Error(err)
					}
				}},
				{Index: onAnswer, Func: func(_ *core.Token, args []uint32, data []byte) { check("reply", args, data); answers++ }},
			}})
			if err != nil {
				return err
			}
			if j.Rank() == 1 {
				for range 50 {
					j.Compute(3 * time.Millisecond)
					if err := ep.Poll(); err != nil {
						return err
					}
				}
				return nil
			}
			most := ep.Limits().MaxLongRequest
			for i, size := range []int{0, 1, 256, 257, 8192, 8193, most} {
				args := []uint32{uint32(size), uint32(i + 1)}
				for len(args) < 2+i*2 {
					args = append(args, uint32(len(args)))
				}
				if size == most {
					args = append(args, 14, 15)
				}
				if err := ep.RequestLong(1, onAsk, bytes.Repeat([]byte{byte(i + 1)}, size), uint64(i), args...); err != nil {
					return err
				}
				if err := ep.WaitUntil(func() bool { return answers == i+1 }); err != nil {
					return err
				}
			}
			if got := ep.Segment()[2<<20:][:most]; slices.Min(got) != 7 || slices.Max(got) != 7 {
				t.Errorf("the last reply is not in its place")
			}
			return nil
		})
		if err != nil {
			t.Errorf("%q: %v", lines, err)
		}
	}
}

// TestSleep has a message to a rank that sleeps take an interrupt and a wake-up more than one to a rank that polls.
func TestSleep(t *testing.T) {
	t.Parallel()
	const us = core.Time(1e6)
	const slower = "driver.interrupt 30 us assumed for the test\ndriver.wakeup 50 us assumed for the test"
	polls, sleeps := half(t, on(t, "amii", ""), 0), half(t, sleeping(t, ""), 0)
	if more := sleeps - polls; more < 58*us || more > 62*us {
		t.Errorf("half a round trip between ranks that sleep takes %v more, want 60 µs", more)
	}
	if again := half(t, on(t, "amii", slower), 0); again != polls {
		t.Errorf("with slower interrupts half a round trip between ranks that poll takes %v, and %v without", again, polls)
	}
	if more := half(t, sleeping(t, slower), 0) - sleeps; more < 19*us || more > 21*us {
		t.Errorf("with interrupts and wake-ups that take 20 µs more half a round trip between ranks that sleep takes %v more", more)
	}
}

// TestSettings refuses what AM-II cannot be set to, and all settings of the others.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ system, key, value, says string }{
		{"amii", "wait", "doze", `setting wait="doze": want poll or sleep`},
		{"amii", "weight", "1", "unknown; there are wait"},
		{"hpam", "wait", "sleep", "unknown; there are none"},
	} {
		cfg := on(t, c.system, "")
		cfg.Settings = map[string]string{c.key: c.value}
		err := core.RunModel(2, cfg, func(j *core.Job) error {
			_, err := j.Attach(core.AttachSpec{})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", c.system, err, c.says)
		}
	}
}
