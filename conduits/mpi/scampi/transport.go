package scampi

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// transport is one rank's end; it implements mpi.Transport.
type transport struct {
	profile *Profile
	layout  layout
	proc    *vtime.Proc
	rank    core.Rank
	group   []core.Rank
	dev     *sisci.Device
	engine  *matching.Engine
	err     error // of what an event found; reported by the next Progress

	peers    sparse.Table[peer]
	channels []*channel // in the order in which their peers came
	imports  imports
	busy     []*peer // who has outgoing parts of large messages
	dma      dma
	requests int  // posts that are under way
	worked   bool // the present call of Progress has done more than look
}

// peer is another rank, or this one, as far as there were messages.
type peer struct {
	rank    core.Rank
	in      *channel                     // nil before it has connected to this rank
	out     *imported                    // nil while it is not imported
	sent    uint64                       // messages put into its channel
	filled  uint64                       // transporter buffers, likewise
	large   fifo.Queue[matching.Message] // granted messages whose parts are to be sent
	current matching.Message             // that of which parts are being sent; Payload nil: none
	at      int                          // bytes of it that were sent or given to DMA
	flying  int                          // parts that DMA has not brought yet
	busy    bool                         // in transport.busy
}

// peer returns what is known of a rank.
func (t *transport) peer(r core.Rank) *peer {
	p := t.peers.At(int(r))
	p.rank = r
	return p
}

// Limits implements mpi.Transport. The steps of the conduit's own software cost what they
// cost the conduit on SCI.
func (t *transport) Limits() mpi.TransportLimits {
	h := &t.profile.Hardware.Host
	return mpi.TransportLimits{Eager: t.layout.eager, Costs: mpi.Costs{
		Poll: h.Call + h.Test, Build: h.Build, Deliver: h.Dispatch, CopyKB: h.CopyRate.Time(1024),
	}}
}

// Progress implements mpi.Transport: a call of MPI_Isend or MPI_Irecv for every post, and one of
// MPI_Testsome. Time passes in it while stores are answered, and while a channel is full that
// something goes to; then it takes what comes meanwhile.
func (t *transport) Progress(posts []mpi.Post, done []mpi.Completion) (int, error) {
	for i := range posts {
		if err := t.begin(&posts[i]); err != nil {
			return 0, err
		}
	}
	if err := t.advance(); err != nil {
		return 0, err
	}
	l := &t.profile.Library
	t.proc.Charge(l.Call + vtime.Time(t.requests)*l.Test)
	n := 0
	for n < len(done) {
		d, ok := t.engine.Completed()
		if !ok {
			break
		}
		done[n] = mpi.Completion{ID: d.ID, Len: d.Len, Source: core.Rank(d.Source), Tag: d.Tag}
		n++
	}
	t.requests -= n
	t.proc.Charge(vtime.Time(n) * l.Request)
	if t.worked {
		// A rank that finds nothing parks, to wake at a multiple of what that poll has cost.
		// This one was no such poll, so the rank is to make another.
		t.worked = false
		t.proc.Arrive()
	}
	return n, nil
}

// begin starts a send or a receive.
func (t *transport) begin(p *mpi.Post) error {
	t.proc.Charge(t.profile.Library.Call + t.profile.Library.Request)
	t.requests++
	t.worked = true
	if !p.Receive {
		t.engine.Send(int32(p.Peer), p.Tag, p.Buf, p.ID)
		_, err := t.transmit() // it has left when MPI_Isend returns
		return err
	}
	if err := t.engine.Receive(int32(p.Peer), p.Tag, p.Buf, p.ID); err != nil {
		return fmt.Errorf("scampi: %w", err)
	}
	t.account()
	return nil
}

// advance is the progress engine.
func (t *transport) advance() error {
	if err := t.receive(); err != nil {
		return err
	}
	if _, err := t.transmit(); err != nil { // what the answers are to what has come
		return err
	}
	for {
		if err := t.carry(); err != nil {
			return err
		}
		// While it waited for the hardware something may have come that is to be answered.
		if sent, err := t.transmit(); err != nil || !sent {
			return err
		}
	}
}

// account charges what the engine has done since the last time.
func (t *transport) account() {
	t.proc.Charge(t.profile.Library.Match * vtime.Time(t.engine.Searched()))
	if copies, bytes := t.engine.Copied(); copies > 0 {
		h := &t.profile.Hardware.Host
		t.proc.Charge(vtime.Time(copies)*h.Copy + h.CopyRate.Time(bytes))
	}
}

// fail notes an error for the next Progress.
func (t *transport) fail(err error) {
	if t.err == nil {
		t.err = fmt.Errorf("scampi: make the channel of a sender: %w", err)
	}
}

// Close implements mpi.Transport.
func (t *transport) Close() error { return t.dev.Terminate() }
