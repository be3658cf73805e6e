package core

import (
	"runtime"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// TestStaging prepares messages of several sizes, which the library assembles outside of the heap. Its memory is
// used again, grows, and is given back at the end of the job.
func TestStaging(t *testing.T) {
	var all []*staging
	got := 0
	err := alone(t, Config{Threads: Single}, []HandlerEntry{{Index: 130, Func: func(tok *Token, args []uint32, _ []byte) {
		b, err := tok.Prepare(Offer{Kind: Medium, Least: 100, Most: 100, Outside: true})
		if err == nil {
			err = tok.Commit(131, len(b))
		}
		if err != nil {
			t.Error(err)
		}
	}}, {Index: 131, Func: func(*Token, []uint32, []byte) { got++ }}}, func(ep *Endpoint) error {
		for i := range 3 {
			b, err := ep.Prepare(0, Offer{Kind: Medium, Least: 100, Most: 100, Outside: true})
			if err != nil {
				return err
			}
			clear(b)
			if err := ep.Commit(130, len(b)); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return got > i }); err != nil {
				return err
			}
		}
		all = ep.stagings.all
		if len(all) != 2 { // the context's, and the token's
			t.Errorf("%d staging memories", len(all))
		}
		const large = 32 << 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := ep.stagingOf(&all[0], large)
		runtime.ReadMemStats(&after)
		if err != nil || len(b) != large || all[0].region == nil {
			t.Errorf("%d bytes, in region %v: %v", len(b), all[0].region, err)
		}
		b[0], b[large-1] = 1, 1
		if n := after.TotalAlloc - before.TotalAlloc; n > large/2 && !shm.RaceEnabled {
			t.Errorf("the heap has given %d bytes", n)
		}
		if c, err := ep.stagingOf(&all[0], large/2); err != nil || &c[0] != &b[0] {
			t.Errorf("what is large enough was not used again: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, s := range all {
		if s.region != nil || s.mem != nil {
			t.Error("staging memory outlives the job")
		}
	}
}

// TestCancel gives prepared messages up: what was prepared is not sent, and something else may be. One that has its place already is
// not given up.
func TestCancel(t *testing.T) {
	var got []uint32
	outside := Offer{Kind: Medium, Least: 8, Most: 8, NArgs: 1, Outside: true}
	err := alone(t, Config{Threads: Single}, []HandlerEntry{{Index: 130, Func: func(tok *Token, args []uint32, _ []byte) {
		if tok.Cancel() == nil {
			t.Error("a reply was cancelled that nobody has prepared")
		}
		_, err := tok.Prepare(outside)
		if err == nil {
			err = tok.Cancel()
		}
		if err == nil {
			err = tok.ReplyShort(131, args[0])
		}
		if err != nil {
			t.Error(err)
		}
	}}, {Index: 131, Func: func(_ *Token, args []uint32, _ []byte) { got = append(got, args[0]) }}}, func(ep *Endpoint) error {
		if ep.Cancel() == nil {
			t.Error("a request was cancelled that nobody has prepared")
		}
		for _, o := range []Offer{outside, {Kind: Medium, Least: 8, Most: 8, NArgs: 1, Buf: make([]byte, 8)}} {
			if _, err := ep.Prepare(0, o); err != nil {
				return err
			}
			if err := ep.Cancel(); err != nil {
				return err
			}
		}
		if _, err := ep.Prepare(0, Offer{Kind: Medium, Least: 8, Most: 8, NArgs: 1}); err != nil {
			return err
		}
		if ep.Cancel() == nil {
			t.Error("a request was cancelled that has its place already")
		}
		if err := ep.Commit(130, 8, 1); err != nil {
			return err
		}
		if err := ep.RequestShort(0, 130, 2); err != nil {
			return err
		}
		return ep.WaitUntil(func() bool { return len(got) >= 2 })
	})
	if err != nil || !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("replies to %d; want to 1 and 2: %v", got, err)
	}
}
