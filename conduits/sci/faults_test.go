package sci_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

// faulty is the paper profile over a network that loses packets and fails checks: with one
// fault in eight operations, hardly a payload gets through at the first attempt.
func faulty(threads core.Threads) core.Config {
	return core.Config{
		Conduit: "sci", Profile: "paper", Threads: threads,
		Settings: map[string]string{"forced-scan": "off", "faults": "8"},
	}
}

// faultStress has all ranks send each other messages of every category, each with a number
// and a payload that follows from it, and counts what arrives.
var faultStress = &coretest.Case{
	Name:  "sci/fault-stress",
	Rule:  "a transfer is repeated until it is certain, and its message announced once: nothing is lost, doubled or mixed up",
	Ranks: []int{2, 4},
	Body: func(t *coretest.T) error {
		const onMessage, onAnswer = 128, 129
		const most, place = 2000, 2048 // bytes of a Long, and from one to the next
		total := t.Times(1000)
		requests, replies := newArrivals(t, total), newArrivals(t, total)
		ep, err := t.Attach(core.AttachSpec{Segment: fmt.Sprint(t.Size() * total * place), Handlers: []core.HandlerEntry{
			{Index: onMessage, Func: func(tok *core.Token, args []uint32, data []byte) {
				id := args[0]
				requests.add("request", tok, id, id, data)
				if id%2 == 0 {
					if err := tok.ReplyMedium(onAnswer, content(^id, int(id)%900), id); err != nil {
						t.Errorf("reply: %v", err)
					}
				}
			}},
			{Index: onAnswer, Func: func(tok *core.Token, args []uint32, data []byte) {
				replies.add("reply", tok, args[0], ^args[0], data)
			}},
		}})
		if err != nil {
			return err
		}
		rng := t.Rand()
		for id := range uint32(total) {
			if err := t.Others(func(r core.Rank) error {
				switch data := content(id, rng.IntN(most)); rng.IntN(3) {
				case 0:
					return ep.RequestShort(r, onMessage, id)
				case 1:
					return ep.RequestMedium(r, onMessage, data[:len(data)%900], id)
				default: // stored or by DMA, at every alignment
					off := (int(t.Rank())*total+int(id))*place + rng.IntN(place-most)
					return ep.RequestLong(r, onMessage, data, uint64(off), id)
				}
			}); err != nil {
				return err
			}
		}
		peers := t.Size() - 1
		return t.Wait(&ep.Context, func() bool {
			return requests.n >= total*peers && replies.n >= (total+1)/2*peers
		})
	},
}

// arrivals notes which numbered messages have come from each rank.
type arrivals struct {
	t    *coretest.T
	seen [][]bool
	n    int
}

func newArrivals(t *coretest.T, total int) *arrivals {
	a := &arrivals{t: t}
	for range t.Size() {
		a.seen = append(a.seen, make([]bool, total))
	}
	return a
}

// add notes message id, whose payload belongs to the seed.
func (a *arrivals) add(what string, tok *core.Token, id, seed uint32, data []byte) {
	a.n++
	if a.seen[tok.Src()][id] {
		a.t.Errorf("%s %d of rank %d arrived twice", what, id, tok.Src())
	}
	a.seen[tok.Src()][id] = true
	if !bytes.Equal(data, content(seed, len(data))) {
		a.t.Errorf("%s %d of rank %d arrived with another payload", what, id, tok.Src())
	}
}

// content returns the payload of n bytes that belongs to a message.
func content(id uint32, n int) []byte {
	b := make([]byte, n)
	var seed [32]byte
	binary.LittleEndian.PutUint32(seed[:], id)
	rand.NewChaCha8(seed).Read(b)
	return b
}

func TestFaultyNetwork(t *testing.T) {
	some := coretest.Groups("message", "reply", "order", "flood", "negotiation", "context", "allocation")
	var kinds []coretest.Kind
	for _, threads := range []core.Threads{core.Single, core.Many} {
		t.Run("stress/"+threads.String(), func(t *testing.T) {
			coretest.RunCase(t, spawntest.Processes, faulty(threads), faultStress)
		})
		kinds = append(kinds, coretest.Kind{
			Name: threads.String(), Launcher: coretest.Goroutines, Config: faulty(threads), Only: some, Factors: "threads",
		})
	}
	coretest.Suite(t, coretest.Cases(), kinds...)
}

// Messages are lost as little to ranks that sleep.
func TestFaultySleepers(t *testing.T) {
	cfg := faulty(core.Single)
	cfg.Conduit, cfg.Sleep = "sci, dozing", 1
	coretest.RunCase(t, spawntest.Processes, cfg, sleepStress)
}

// When nothing arrives any more, the job ends and says why.
func TestFaultyForGood(t *testing.T) {
	cfg := faulty(core.Single)
	cfg.Segment = "1MB"
	cfg.Settings["faults"] = "2"
	err := core.RunGoroutines(2, cfg, func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		if j.Rank() == 0 { // 15 packets, each lost with a probability of a half
			err = ep.RequestMedium(1, 128, make([]byte, 944))
		}
		return errors.Join(err, ep.WaitUntil(func() bool { return false }))
	})
	if err == nil || !strings.Contains(err.Error(), "sci: rank 0: cannot send to rank 1") {
		t.Errorf("the job ends with %v", err)
	}
}

// The live profile repeats nothing, so it does not run over such a network.
func TestFaultsNeedSequences(t *testing.T) {
	cfg := faulty(core.Single)
	cfg.Profile = "live"
	err := core.RunGoroutines(2, cfg, func(j *core.Job) error {
		_, err := j.Attach(core.AttachSpec{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "only profile paper") {
		t.Errorf("Attach: %v", err)
	}
}
