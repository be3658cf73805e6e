package sci_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// changed writes a machine file: another one, and lines that differ.
func changed(t testing.TB, base string, lines ...string) string {
	name := filepath.Join(t.TempDir(), "changed.machine")
	text := "base " + base + "\n"
	for _, l := range lines {
		text += l + " assumed for the test\n"
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// with is a configuration with a setting.
func with(cfg core.Config, key, value string) core.Config {
	cfg.Settings = map[string]string{key: value}
	return cfg
}

// initiator runs body on rank 0 of a job of two, whose other rank serves it.
func initiator(t testing.TB, cfg core.Config, body func(*core.Job, *core.Endpoint) error) {
	t.Helper()
	err := core.RunModel(2, cfg, func(j *core.Job) error {
		told := false
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(*core.Token, []uint32, []byte) { told = true }},
		}})
		switch {
		case err != nil:
			return err
		case j.Rank() == 0:
			return errors.Join(body(j, ep), ep.RequestShort(1, 128))
		}
		return ep.WaitUntil(func() bool { return told })
	})
	if err != nil {
		t.Fatal(err)
	}
}

// finish waits for operations.
func finish(ep *core.Endpoint, done *core.Completion) error {
	return ep.WaitUntil(func() bool { return done.Pending() == 0 })
}

// putTime returns how long a put takes of n bytes, of the rank's segment or of other memory,
// after one that has connected.
func putTime(t testing.TB, cfg core.Config, n int, exported bool) (took core.Time) {
	t.Helper()
	initiator(t, cfg, func(j *core.Job, ep *core.Endpoint) error {
		src := make([]byte, n)
		if exported {
			src = ep.Segment()[:n]
		}
		for range 2 {
			var done core.Completion
			start := j.Now()
			r, err := ep.PutNative(1, 0, src, nil, &done)
			if r != core.Initiated || err != nil {
				return fmt.Errorf("a put of %d bytes: %v, %w", n, r, err)
			}
			if err := finish(ep, &done); err != nil {
				return err
			}
			took = j.Now() - start
		}
		return nil
	})
	return took
}

// storeTime returns how long it takes the hardware to store n bytes and to check that.
func storeTime(t testing.TB, p *hardware.Profile, n int) (took vtime.Time) {
	k := vtime.New(1)
	m, err := hardware.New(k, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	proc := k.Spawn("host", func(proc *vtime.Proc) {
		var a hardware.Account
		b := make([]byte, n)
		m.Node(0).Start(&a)
		for range 2 {
			start := proc.Now()
			m.Node(0).Store(m.Node(1), b, b, 0, &a, nil)
			m.Node(0).Check(&a)
			took = proc.Now() - start
		}
	})
	m.Node(0).Run(proc)
	if err := k.Run(); err != nil {
		t.Fatal(err)
	}
	return took
}

// A put of a word takes what the adapter takes to store and check it, the steps of the
// conduit, and at most one question more for the answers. That is less than half of a Long and
// its answer.
func TestPutTime(t *testing.T) {
	for _, machine := range []string{"d339", "ntb"} {
		p, err := hardware.Load(machine)
		if err != nil {
			t.Fatal(err)
		}
		h := &p.Host
		raw := storeTime(t, p, 8)
		steps := h.Slot + h.LookUp + 2*h.Sequence + h.Call + h.Test
		question := h.Call + h.Test + h.Sequence + p.PIO.Flush + p.PIO.Status
		put := putTime(t, on(machine), 8, false)
		message := 2 * exchange(t, on(machine), core.Long, 8, 20)
		t.Logf("%s: hardware %v, put %v, Long and answer %v", machine, raw, put, message)
		if put < raw || put > raw+steps+question {
			t.Errorf("%s: a put of 8 bytes takes %v, the hardware %v, the steps %v, a question %v", machine, put, raw, steps, question)
		}
		if put > message/2 {
			t.Errorf("%s: a put of 8 bytes takes %v, a Long and its answer %v", machine, put, message)
		}
	}
}

// Puts overlap: many take less than half of the time of as many single ones. Those to one peer
// in a row share the question for the answers, so that each takes less than that.
func TestPutsOverlap(t *testing.T) {
	const n = 64
	var all core.Time
	initiator(t, on("d339"), func(j *core.Job, ep *core.Endpoint) error {
		var done core.Completion
		word := make([]byte, 8)
		for range 2 {
			start := j.Now()
			for i := range uint64(n) {
				if _, err := ep.PutNative(1, 8*i, word, nil, &done); err != nil {
					return err
				}
			}
			if err := finish(ep, &done); err != nil {
				return err
			}
			all = j.Now() - start
		}
		return nil
	})
	p, err := hardware.Load("d339")
	if err != nil {
		t.Fatal(err)
	}
	question := p.Host.Sequence + p.PIO.Flush + p.PIO.Status
	one := putTime(t, on("d339"), 8, false)
	t.Logf("%v each, one alone takes %v", all/n, one)
	if all/n > one/2 || all/n >= question {
		t.Errorf("%d puts take %v, one takes %v, a question for the answers %v", n, all, one, question)
	}
}

// Puts go by stores below the size that the machine suggests, and by DMA from there on. The
// setting and the machine's constant move that size.
func TestDMAFrom(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  core.Config
		from int
	}{
		{"d339", on("d339"), 8 << 10},
		{"ntb", on("ntb"), 32 << 10},
		{"dma-from", with(on("d339"), "dma-from", "3000"), 3000},
		{"dma.suggested", on(changed(t, "d339", "dma.suggested 2 KB")), 2 << 10},
	} {
		never := with(tc.cfg, "dma-from", "never")
		for _, n := range []int{8, tc.from - 8, tc.from - 1, tc.from, tc.from + 1, 2 * tc.from} {
			stored, put := putTime(t, never, n, true), putTime(t, tc.cfg, n, true)
			if dma := stored != put; dma != (n >= tc.from) {
				t.Errorf("%s: %d bytes by DMA: %v (%v, stored in %v)", tc.name, n, dma, put, stored)
			}
		}
	}
}

// What lies in the rank's segment goes by DMA without a copy, and is then faster than by stores.
// Anything else costs the copy, but the caller has its memory back when that is made.
func TestDMASource(t *testing.T) {
	const n = 32 << 10
	stored := putTime(t, with(on("d339"), "dma-from", "never"), n, true)
	own, other := putTime(t, on("d339"), n, true), putTime(t, on("d339"), n, false)
	p, err := hardware.Load("d339")
	if err != nil {
		t.Fatal(err)
	}
	h := &p.Host
	copied := h.Copy + h.CopyRate.Time(n)
	t.Logf("%d bytes: %v stored, %v by DMA, %v with a copy", n, stored, own, other)
	if own >= stored || other-own < copied*99/100 || other-own > copied*101/100 {
		t.Errorf("%d bytes: %v stored, %v by DMA, %v with a copy, which takes %v", n, stored, own, other, copied)
	}
	for _, exported := range []bool{false, true} {
		initiator(t, on("d339"), func(j *core.Job, ep *core.Endpoint) error {
			src := make([]byte, n)
			if exported {
				src = ep.Segment()[n:][:n]
			}
			var lc, done core.Completion
			if _, err := ep.PutNative(1, 0, src, &lc, &done); err != nil {
				return err
			}
			if inUse := lc.Pending() > 0; inUse != exported || done.Pending() == 0 {
				t.Errorf("source in the segment %v, in use after the call: %v; pending %d", exported, inUse, done.Pending())
			}
			return finish(ep, &done)
		})
	}
}

// randomPuts has every rank put random pieces into its own part of all segments, many at once,
// from its segment and from the heap, and overwrites the sources as soon as it may. What is in
// the segments then is compared with copies that were made in order.
func randomPuts(t *testing.T, ranks, rounds int) func(*core.Job) error {
	return func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		const share, sources = 60_000, 3 * 60_000 // bytes: of a rank's part, and where its sources begin
		expected := func(from core.Rank, each func(dst core.Rank, off int, src []byte, exported bool, skew int) error) error {
			rng := rand.New(rand.NewPCG(7, uint64(from)))
			for range rounds {
				for at := 0; at < share; { // pieces of one round do not overlap: they have no order
					n := min(1+int(rng.ExpFloat64()*float64(1+rng.IntN(8000))), share-at, ep.MaxNativePut())
					src := make([]byte, n)
					for i := range src {
						src[i] = byte(rng.Uint32())
					}
					dst := core.Rank(rng.IntN(ranks))
					if err := each(dst, int(from)*share+at, src, rng.IntN(2) == 0, rng.IntN(8)); err != nil {
						return err
					}
					at += n
				}
				if err := each(-1, 0, nil, false, 0); err != nil { // the end of a round
					return err
				}
			}
			return nil
		}
		var done, lc core.Completion
		next := sources
		err = expected(j.Rank(), func(dst core.Rank, off int, src []byte, exported bool, skew int) error {
			if dst < 0 {
				return finish(ep, &done)
			}
			if exported { // from the rank's own segment, aligned as the destination or not
				if next += 16; next+len(src) > len(ep.Segment()) {
					if err := ep.WaitLocal(&lc); err != nil {
						return err
					}
					next = sources
				}
				at := next&^7 + skew
				src = ep.Segment()[at:][:copy(ep.Segment()[at:], src)]
				next = at + len(src)
			}
			r, err := ep.PutNative(dst, uint64(off), src, &lc, &done)
			if err != nil || r == core.Declined {
				return fmt.Errorf("a put of %d bytes: %v, %w", len(src), r, err)
			}
			if !exported {
				err = ep.WaitLocal(&lc)
				for i := range src {
					src[i] = 0xee
				}
			}
			return err
		})
		if err = errors.Join(err, ep.Barrier()); err != nil {
			return err
		}
		want := make([]byte, ranks*share)
		for from := range core.Rank(ranks) {
			_ = expected(from, func(dst core.Rank, off int, src []byte, _ bool, _ int) error {
				if dst == j.Rank() {
					copy(want[off:], src)
				}
				return nil
			})
		}
		if !bytes.Equal(ep.Segment()[:len(want)], want) {
			t.Errorf("rank %d: the segment is not what was put there", j.Rank())
		}
		return ep.Barrier()
	}
}

func TestRandomPuts(t *testing.T) {
	lossy := on(changed(t, "d339", "error.lost 20000 ppm", "error.busy 20000 ppm"))
	for _, tc := range []struct {
		name string
		cfg  core.Config
	}{
		{"d339", on("d339")},
		{"scale", on("scale")},
		{"scale, all by DMA", with(on("scale"), "dma-from", "1")},
		{"ntb", on("ntb")},
		{"all by DMA", with(on("d339"), "dma-from", "1")},
		{"all stored", with(on("d339"), "dma-from", "never")},
		{"lossy, by DMA", with(lossy, "dma-from", "100")},
		{"lossy, stored", with(lossy, "dma-from", "never")},
		{"one outstanding, short transfers", with(on(changed(t, "d339", "pio.outstanding 1 count", "dma.most 512 B")), "dma-from", "2KB")},
	} {
		if shm.RaceEnabled && tc.name != "d339" { // which has little to find among coroutines that take turns
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			if err := coretest.Twice(t, 3, tc.cfg, randomPuts(t, 3, 2)); err != nil {
				t.Error(err)
			}
		})
	}
}

// drawAll has every rank draw numbers from a word of rank 0, by the adapter or by messages.
func drawAll(t testing.TB, machine string, ranks, each int, native bool) (took core.Time) {
	t.Helper()
	seen := make([]bool, ranks*each)
	err := coretest.Twice(t, ranks, on(machine), func(j *core.Job) error {
		var ep *core.Endpoint
		told, last := 0, uint32(0)
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(tok *core.Token, _ []uint32, _ []byte) {
				word := ep.Segment()[64:]
				n := binary.NativeEndian.Uint32(word)
				binary.NativeEndian.PutUint32(word, n+1)
				if err := tok.ReplyShort(129, n); err != nil {
					t.Error(err)
				}
			}},
			{Index: 129, Func: func(_ *core.Token, args []uint32, _ []byte) { told++; last = args[0] }},
		}})
		if err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
		if j.Rank() == 0 {
			clear(seen)
		}
		start := j.Now()
		for i := range each {
			if i == 1 { // connected
				start = j.Now()
			}
			if native {
				var done core.Completion
				fetched := make([]byte, 4)
				const op = core.AtomicInc << core.FetchShift
				if _, err = ep.AtomicNative(0, 64, core.ElementUint32, op, 0, 0, fetched, &done); err == nil {
					err = finish(ep, &done)
				}
				last = binary.NativeEndian.Uint32(fetched)
			} else {
				err = errors.Join(ep.RequestShort(0, 128), ep.WaitUntil(func() bool { return told > i }))
			}
			if err != nil {
				return err
			}
			if seen[last] {
				t.Errorf("%d was drawn twice", last)
			}
			seen[last] = true
		}
		took = max(took, (j.Now()-start)/core.Time(each-1))
		return ep.Barrier()
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, drawn := range seen {
		if !drawn {
			t.Errorf("nobody has drawn %d", i)
		}
	}
	return took
}

// Numbers that all ranks draw, the owner too, are drawn once, and faster by the adapter than by
// messages.
func TestDrawNumbers(t *testing.T) {
	for _, machine := range []string{"d339", "scale"} {
		adapter, messages := drawAll(t, machine, 4, 50, true), drawAll(t, machine, 4, 50, false)
		t.Logf("%s: %v by the adapter, %v by messages", machine, adapter, messages)
		if adapter > messages/2 {
			t.Errorf("%s: a number takes %v by the adapter, %v by messages", machine, adapter, messages)
		}
	}
}

// All that is an addition does what it says, on both types, and fetches what was there.
func TestAdditions(t *testing.T) {
	initiator(t, on("d339"), func(j *core.Job, ep *core.Endpoint) error {
		rng, word := rand.New(rand.NewPCG(1, 2)), uint32(0)
		ops := []core.AtomicOp{core.AtomicAdd, core.AtomicSub, core.AtomicInc, core.AtomicDec}
		for _, typ := range []core.ElementType{core.ElementUint32, core.ElementInt32} {
			named := core.AtomicGet
			for _, op := range ops {
				named |= op | op<<core.FetchShift
			}
			if got := ep.NativeOps(typ); got != named {
				t.Errorf("operations on %#x: %#x, want %#x", typ, got, named)
			}
			for i := range 200 {
				op, x := ops[rng.IntN(len(ops))], rng.Uint32()
				fetching := i%2 == 0
				fetched := make([]byte, 4)
				want := word
				switch op {
				case core.AtomicAdd:
					word += x
				case core.AtomicSub:
					word -= x
				case core.AtomicInc:
					word++
				case core.AtomicDec:
					word--
				}
				if fetching {
					op <<= core.FetchShift
				}
				var done core.Completion
				dst := core.Rank(rng.IntN(2)) // its own word is used as the other's
				r, err := ep.AtomicNative(1, 12, typ, op, uint64(x), 0, fetched, &done)
				if r != core.Completed || err != nil || done.Pending() != 0 {
					return fmt.Errorf("operation %#x: %v, %w", op, r, err)
				}
				if got := binary.NativeEndian.Uint32(fetched); fetching && got != want {
					t.Errorf("operation %#x fetched %d, want %d", op, got, want)
				}
				_, err = ep.AtomicNative(dst, 16, typ, core.AtomicAdd, 1, 0, nil, &done)
				if err != nil {
					return err
				}
				if _, err := ep.AtomicNative(1, 12, typ, core.AtomicGet, 0, 0, fetched, &done); err != nil {
					return err
				}
				if got := binary.NativeEndian.Uint32(fetched); got != word {
					t.Errorf("operation %#x made %d, want %d", op, got, word)
				}
			}
		}
		return nil
	})
}

// A fetch-and-add finds what the same rank has put there, as soon as the put is complete.
func TestAddToWhatWasPut(t *testing.T) {
	initiator(t, on("d339"), func(j *core.Job, ep *core.Endpoint) error {
		for i := range uint32(20) {
			var done core.Completion
			src, fetched := binary.NativeEndian.AppendUint32(nil, 1000*i), make([]byte, 4)
			if _, err := ep.PutNative(1, 40, src, nil, &done); err != nil {
				return err
			}
			if err := finish(ep, &done); err != nil {
				return err
			}
			const op = core.AtomicAdd << core.FetchShift
			if _, err := ep.AtomicNative(1, 40, core.ElementUint32, op, 1, 0, fetched, &done); err != nil {
				return err
			}
			if got := binary.NativeEndian.Uint32(fetched); got != 1000*i {
				t.Errorf("put %d, fetched %d", 1000*i, got)
			}
		}
		return nil
	})
}

// Where adapters do not add, or answers get lost, all atomic operations are messages. No
// machine's adapter adds to words of 64 bits or to floats.
func TestNoAdditions(t *testing.T) {
	for machine, want := range map[string]bool{"d339": true, "scale": true, "ntb": false, unreliable(t): false} {
		initiator(t, on(machine), func(_ *core.Job, ep *core.Endpoint) error {
			for typ := core.ElementInt32; typ <= core.ElementFloat64; typ <<= 1 {
				adds := typ == core.ElementInt32 || typ == core.ElementUint32
				if got := ep.NativeOps(typ) != 0; got != (want && adds) {
					t.Errorf("%s: operations on type %#x: %v", machine, typ, got)
				}
			}
			if ep.MaxNativePut() < 32<<10 || ep.MaxNativeGet() != 0 {
				t.Errorf("%s: puts of %d bytes, gets of %d", machine, ep.MaxNativePut(), ep.MaxNativeGet())
			}
			return nil
		})
	}
}

// The loss of a node ends the job, whatever the others do to it.
func TestNodeLossUnderWay(t *testing.T) {
	const at = 5 * vtime.Millisecond
	for name, begin := range map[string]func(*core.Endpoint, *core.Completion) error{
		"stores": func(ep *core.Endpoint, done *core.Completion) error {
			_, err := ep.PutNative(1, 0, make([]byte, 100), nil, done)
			return err
		},
		"DMA": func(ep *core.Endpoint, done *core.Completion) error {
			_, err := ep.PutNative(1, 0, make([]byte, 20_001), nil, done)
			return err
		},
		"fetch-and-add": func(ep *core.Endpoint, done *core.Completion) error {
			_, err := ep.AtomicNative(1, 0, core.ElementInt32, core.AtomicInc, 0, 0, nil, done)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := on("d339")
			cfg.Losses = []core.Loss{{Rank: 1, At: at}}
			err := coretest.Twice(t, 3, cfg, func(j *core.Job) error {
				ep, err := j.Attach(core.AttachSpec{})
				for err == nil && j.Rank() == 0 {
					var done core.Completion
					err = errors.Join(begin(ep, &done), finish(ep, &done))
				}
				if err != nil {
					return err
				}
				return ep.WaitUntil(func() bool { return false })
			})
			if core.StatusOf(err) != 137 || !strings.Contains(err.Error(), "the node of rank 1 is lost") {
				t.Errorf("status %d, %v", core.StatusOf(err), err)
			}
		})
	}
}

// Once everything has been used, operations allocate nothing.
func TestOperationsAllocateNothing(t *testing.T) {
	initiator(t, on("d339"), func(_ *core.Job, ep *core.Endpoint) error {
		var done core.Completion
		var failed error
		src, fetched := make([]byte, 20_001), make([]byte, 4)
		operate := func() {
			for _, n := range []int{8, 8, 500, 20_001} {
				if _, err := ep.PutNative(1, 3, src[:n], nil, &done); err != nil {
					failed = err
				}
			}
			if _, err := ep.AtomicNative(1, 0, core.ElementUint32, core.AtomicInc<<core.FetchShift, 0, 0, fetched, &done); err != nil {
				failed = err
			}
			failed = errors.Join(failed, finish(ep, &done))
		}
		for range 10 {
			operate()
		}
		if n := testing.AllocsPerRun(100, operate); n > 0 {
			t.Errorf("four puts and an addition allocate %v times", n)
		}
		return failed
	})
}

// A put under way when the other rank, or this one, has ended does no harm.
func TestPutsLeftBehind(t *testing.T) {
	err := coretest.Twice(t, 3, on("d339"), func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		done := new(core.Completion)
		for i := range core.Rank(9) {
			n := []int{8, 3000, 30_000}[i/3]
			if _, err := ep.PutNative(i%3, 0, make([]byte, n), nil, done); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDMAFromErrors(t *testing.T) {
	attach := func(j *core.Job) error {
		_, err := j.Attach(core.AttachSpec{})
		return err
	}
	for _, v := range []string{"0", "-1", "much", "10%"} {
		if err := core.RunModel(1, with(on("d339"), "dma-from", v), attach); err == nil || !strings.Contains(err.Error(), "dma-from") {
			t.Errorf("dma-from=%s: %v", v, err)
		}
	}
	cfg := with(core.Config{Conduit: "sci", Profile: "paper"}, "dma-from", "1")
	if err := core.RunGoroutines(1, cfg, attach); err == nil || !strings.Contains(err.Error(), "only modelled machines") {
		t.Errorf("live: %v", err)
	}
}
