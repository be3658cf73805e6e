package sci

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// The flags of a segment made on demand are each on bytes of their own, whatever the bank.
func TestOnDemandLayout(t *testing.T) {
	for bank := range setSize {
		l := onDemand(bank)
		if l.bank > bank || l.bank > 0 && l.set%l.bank != 0 || l.set < 1 {
			t.Fatalf("bank %d: a set of %d senders in banks of %d", bank, l.set, l.bank)
		}
		used := make([]bool, l.size)
		use := func(at int) {
			if used[at] {
				t.Fatalf("bank %d: two flags at %d", bank, at)
			}
			used[at] = true
		}
		use(l.exist)
		for sender := l.set; sender < 2*l.set; sender++ {
			for i := range perPeer {
				use(l.mrf(sender) + i)
			}
			if l.bank > 0 && sender%l.bank == 0 {
				use(l.summary(sender))
			}
			if l.bank > 0 && l.summary(sender) != l.summary(sender-sender%l.bank) {
				t.Fatalf("bank %d: sender %d has another summary flag than its bank", bank, sender)
			}
		}
	}
}

// flatOnDemand is the machine for large jobs without summary flags.
const flatOnDemand = `base scale
layout.flags single word assumed for the test
`

// A rank has more senders than one segment has flags for, and sends to all of them, with and
// without summary flags.
func TestMoreSendersThanASet(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find among coroutines that take turns, and takes long over it")
	}
	flat := filepath.Join(t.TempDir(), "flat.machine")
	if err := os.WriteFile(flat, []byte(flatOnDemand), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, machine := range []string{"scale", flat} {
		t.Run(filepath.Base(machine), func(t *testing.T) { gather(t, machine, setSize/perPeer+8) })
	}
}

// gather has all ranks send to rank 0, and rank 0 to all.
func gather(t *testing.T, machine string, n int) {
	const toRoot, answer, toAll = 128, 129, 130
	seen := make([]bool, n)
	err := core.RunModel(n, core.Config{Conduit: "sci", Profile: machine, Segment: "4KB"}, func(j *core.Job) error {
		answers, calls := 0, 0
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: toRoot, Func: func(tok *core.Token, args []uint32, _ []byte) {
				if seen[args[0]] || core.Rank(args[0]) != tok.Src() {
					tok.Endpoint().Fail(fmt.Errorf("rank %d says it is %d, for the second time: %v", tok.Src(), args[0], seen[args[0]]))
				}
				seen[args[0]] = true
				if err := tok.ReplyShort(answer); err != nil {
					tok.Endpoint().Fail(err)
				}
			}},
			{Index: answer, Func: func(*core.Token, []uint32, []byte) { answers++ }},
			{Index: toAll, Func: func(*core.Token, []uint32, []byte) { calls++ }},
		}})
		if err != nil {
			return err
		}
		if err := ep.RequestShort(0, toRoot, uint32(ep.Rank())); err != nil {
			return err
		}
		for r := range n {
			if ep.Rank() != 0 {
				break
			}
			if err := ep.RequestShort(core.Rank(r), toAll); err != nil {
				return err
			}
		}
		return ep.WaitUntil(func() bool { return answers == 1 && calls == 1 })
	})
	if err != nil {
		t.Fatal(err)
	}
	for r, ok := range seen {
		if !ok {
			t.Errorf("rank %d was not heard", r)
		}
	}
}

// TestLastSetUp has a rank that is alone tell when it has connected to itself: by its first message where peers connect
// at the first use, and else before it is attached.
func TestLastSetUp(t *testing.T) {
	for machine, atFirstUse := range map[string]bool{"d339": false, "scale": true} {
		err := core.RunModel(1, core.Config{Conduit: "sci", Profile: machine, Segment: "4KB"}, func(j *core.Job) error {
			came := 0
			ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
				{Index: 128, Func: func(*core.Token, []uint32, []byte) { came++ }},
			}})
			if err != nil {
				return err
			}
			for i := range 3 {
				before := j.Now()
				if err := ep.RequestShort(0, 128); err != nil {
					return err
				}
				if err := ep.WaitUntil(func() bool { return came > i }); err != nil {
					return err
				}
				if after := j.LastSetUp() > before; after != (i == 0 && atFirstUse) || j.LastSetUp() == 0 {
					t.Errorf("%s: message %d from %v on: last set up at %v", machine, i, before, j.LastSetUp())
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMachineIsReadOnce wants all ranks of a job to have one machine, which a user's own is read for once.
func TestMachineIsReadOnce(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.machine")
	if err := os.WriteFile(own, []byte("base scale\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &core.Attachment{Boot: core.Alone()}
	first, err := (&base{machine: own}).load(a)
	second, err2 := (&base{machine: own}).load(a)
	if err != nil || err2 != nil || first != second {
		t.Errorf("two machines in one job, or %v, %v", err, err2)
	}
}
