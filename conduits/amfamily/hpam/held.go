package hpam

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
)

// Need returns how many receive buffers a card needs so that its pool never overflows among n workstations: from every partner
// 4 requests and the replies to 4 of its own, as far as hpam.buffers is 4.
func (p *Profile) Need(n int) int { return 2 * p.HPAM.Buffers * (n - 1) }

// Hold implements amfamily.Claimer. A reply has its buffer from the beginning, that of its request's number. The timers
// stay off, and nothing is sent twice: a ring that loses nothing and a pool that cannot overflow deliver everything, and what
// a timer would send again to a process that computes would overflow the pool. A machine that is not so is refused.
func (p *Process) Hold(int) error {
	file, need := p.w.p.File, p.w.p.Need(p.Nodes())
	switch {
	case p.w.p.Ring.Lose > 0:
		return file.Errorf("ring.lose is more than 0: what the ring loses would be sent again only while its sender polls")
	case need > p.w.p.HPAM.Pool:
		return file.Errorf("%d workstations need %d receive buffers, but hpam.pool is %d, which is enough for %d", p.Nodes(), need, p.w.p.HPAM.Pool, 1+p.w.p.HPAM.Pool/(2*p.w.p.HPAM.Buffers))
	}
	p.holds = true
	return nil
}

// Claim implements amfamily.Claimer.
func (p *Process) Claim(to, _ int) bool {
	p.Proc().Sync()
	q, free := &p.partners[to], 0
	for i := range q.requests {
		if r := &q.requests[i]; !r.taken && !r.queued {
			free++
		}
	}
	if free <= q.claimed {
		return false
	}
	q.claimed++
	return true
}

// Send implements amfamily.Claimer.
func (p *Process) Send(to, handler int, args [amfamily.Args]uint32, data []byte, _ int) error {
	if err := p.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("hpam: %w", err)
	}
	if !p.enter() {
		return fmt.Errorf("hpam: node %d: another program's process is active", p.ID())
	}
	p.partners[to].claimed--
	p.request(to, p.free(to), &header{handler: uint16(handler), args: args}, data)
	p.leave()
	return nil
}
