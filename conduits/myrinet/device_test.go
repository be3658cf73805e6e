package myrinet_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
)

// devices is what a job says of the devices of its hosts.
type devices struct {
	mu          sync.Mutex
	lines       int
	sent, taken int64
}

func (*devices) Enabled(context.Context, slog.Level) bool { return true }
func (d *devices) WithAttrs([]slog.Attr) slog.Handler     { return d }
func (d *devices) WithGroup(string) slog.Handler          { return d }

func (d *devices) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "myrinet: device" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines++
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "sent":
			d.sent += a.Value.Int64()
		case "taken":
			d.taken += a.Value.Int64()
		}
		return true
	})
	return nil
}

// TestDevices has two hosts with two ranks and a slow device each, which share a NIC. The ranks of one ask those of the other, while the devices stream to each other. With any-to-any sequencing the ranks come to
// an end at their own rate; with sequencing per NI at that of the devices: of each question and each answer some wait for a device that is busy.
func TestDevices(t *testing.T) {
	t.Parallel()
	const rounds, ranks = 20, 4
	for _, where := range []string{"", "live"} {
		for _, sequencing := range []string{"any-to-any", "per-ni"} {
			var log devices
			busy := "5ms"
			if where == "live" && sequencing == "any-to-any" {
				busy = "1s" // so that a busy machine makes no difference
			}
			cfg := with(where, "per-host=2", "devices=1", "device-time="+busy, "counts=on", "sequencing="+sequencing)
			cfg.Log = slog.New(&log)
			run := core.RunModel
			if where == "live" {
				run = func(n int, cfg core.Config, body func(*core.Job) error) error {
					return core.RunGoroutines(n, cfg, body)
				}
			}
			if err := run(ranks, cfg, func(j *core.Job) error {
				told := 0
				ep, err := attach(j, &told)
				for i := 0; i < rounds && err == nil; i++ {
					err = errors.Join(ep.RequestMedium((j.Rank()+2)%ranks, ask, make([]byte, 100), uint32(i)), ep.WaitUntil(func() bool { return told > i }))
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if log.lines != 2 || log.taken == 0 || log.sent < log.taken {
				t.Errorf("%s, %s: %d lines of devices, which have sent %d blocks and taken %d", where, sequencing, log.lines, log.sent, log.taken)
			}
			if held := log.taken >= 3*rounds; held != (sequencing == "per-ni") {
				t.Errorf("%s, %s: the devices have taken %d blocks while the ranks have asked %d questions", where, sequencing, log.taken, rounds)
			}
		}
	}
}

// TestDevicesFail has a device end the job for what no device sends: a block that is not the next one, bytes that are not the block's, and another message.
func TestDevicesFail(t *testing.T) {
	for want, m := range map[string]grim.Message{
		"endpoint 3 tells a device of block 7, and 0 was due": {Source: 3, Handler: 2, Args: [4]uint32{7}},
		"bytes are not those that were sent":                  {Source: 3, Handler: 2},
		"a message 9 from endpoint 3":                         {Source: 3, Handler: 9},
	} {
		if err := myrinet.DeviceFails(&m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestDevicesAll has each of many devices, on hosts with ranks alone, stream all its blocks, also to itself; queues have room for a small part of a block.
func TestDevicesAll(t *testing.T) {
	t.Parallel()
	const blocks = 30
	for _, c := range []struct {
		ranks, lines int
		settings     []string
	}{
		{1, 1, nil},
		{3, 9, []string{"devices=3", "queue=600", "receive=600", "buffers=1", "controls=1"}},
		{4, 4, []string{"per-host=2", "devices=2", "topology=mesh:2x2", "errors=1000"}},
	} {
		var log devices
		cfg := with("", append([]string{"devices=1", "device-time=10us", "device-blocks=30", "counts=on"}, c.settings...)...)
		cfg.Log = slog.New(&log)
		err := core.RunModel(c.ranks, cfg, func(j *core.Job) error {
			ep, err := attach(j, new(int))
			if err == nil {
				j.Compute(time.Second)
				err = ep.Poll()
			}
			return err
		})
		if all := int64(blocks * c.lines); err != nil || log.lines != c.lines || log.sent != all || log.taken != all {
			t.Errorf("%v: %d lines of devices, which have sent %d blocks and taken %d, want %d lines and %d blocks: %v", c.settings, log.lines, log.sent, log.taken, c.lines, all, err)
		}
	}
}
