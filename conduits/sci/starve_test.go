package sci

import (
	"errors"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// hasty is the paper's conduit with the flags of a request in the wrong order: the message
// exist flag before the message ready flag.
type hasty struct{ *paper }

func init() {
	core.Register(core.Driver{
		Name: "sci, hasty", Summary: "for tests: flags in the wrong order", Models: models,
		New: func(machine string) core.Conduit { return hasty{newModelled(machine).paper} },
	})
}

// Commit implements core.Conduit.
func (c hasty) Commit(op *core.Op) {
	if op.Hdr.Reply() {
		c.paper.Commit(op)
		return
	}
	p := c.peer(op.Dst)
	m := commandOf(op.Args)
	m.hdr, m.size = op.Hdr, uint16(op.Len)
	if c.send(p, m, op) {
		p.flags.Store8(c.control.exist, 1)
		p.ready.Note8(int(p.mrf)+int(op.Slot), flagOf(op.Hdr.Kind()))
	}
}

// With the published order of flags every message is found; with the message exist flag before
// the message ready flag the receiver clears the one, sees nothing of the other, and waits for
// ever with the message before its eyes.
func TestFlagOrder(t *testing.T) {
	run := func(conduit string) error {
		cfg := core.Config{Conduit: conduit, Profile: "d339", Segment: "64KB"}
		return core.RunModel(2, cfg, func(j *core.Job) error {
			came, told := false, false
			ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
				{Index: 128, Func: func(tok *core.Token, _ []uint32, _ []byte) { came = true; _ = tok.ReplyShort(129) }},
				{Index: 129, Func: func(*core.Token, []uint32, []byte) { told = true }},
			}})
			if err != nil {
				return err
			}
			if j.Rank() == 0 {
				return errors.Join(ep.RequestShort(1, 128), ep.WaitFor("the answer", func() bool { return told }))
			}
			return ep.WaitFor("the message", func() bool { return came })
		})
	}
	if err := run("sci"); err != nil {
		t.Errorf("in the published order: %v", err)
	}
	if err := run("sci, hasty"); err == nil || !strings.Contains(err.Error(), "rank 1 waits for the message") {
		t.Errorf("in the wrong order: %v", err)
	}
}
