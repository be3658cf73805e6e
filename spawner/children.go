package spawner

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// children are the agents that a Job, or an agent, has started, and what is below them.
type children struct {
	*loop
	of       *branch
	tell     jobEvents
	room     func()                                   // waits until they may tell more; nil: they always may
	program  string                                   // the file that is the agent, where one is to be pushed
	link     func(branch) (io.ReadWriteCloser, error) // in place of a process that connects an agent, for tests
	door     *door                                    // where agents come in that are started together; nil: there are none
	links    []*remote
	via      map[int]*remote // by host: the one through which it is reached; does not change once they are hired
	summoner *carrier        // the process that starts all agents together; nil: there is none, or that is another's
	hired    chan struct{}   // closed when the carriers of agents may go; nil: there are none to be let go
	group    *sync.WaitGroup // of what listens to them, which ends after the loop
}

// hire starts what is to connect the agents.
func (c *children) hire() error {
	c.hired, c.via = make(chan struct{}), make(map[int]*remote)
	var carriers []*carrier
	for _, b := range c.of.split() {
		h := &remote{loop: c.loop, branch: b, of: c, tell: c.tell, input: newCredit()}
		for channel := range h.flows {
			h.flows[channel] = newInflow()
		}
		if c.link != nil {
			rw, err := c.link(b)
			if err != nil {
				return err
			}
			h.trunk = newTrunk(rw)
		} else {
			command := slices.Clone(b.Argv)
			path, err := c.of.find(command[0])
			if err != nil {
				return err
			}
			command[0] = path
			carry, rw, theirs, err := newCarrier(command)
			if err != nil {
				return err
			}
			for _, f := range theirs {
				defer f.Close()
			}
			if h.carry, h.trunk = carry, newTrunk(rw); b.Push {
				h.push = c.program
			}
			carriers = append(carriers, carry)
		}
		c.links = append(c.links, h)
		for _, s := range b.Below {
			c.via[s.Host] = h
		}
		c.via[b.Host] = h
	}
	if c.summoner != nil {
		carriers = append(carriers, c.summoner)
	}
	if err := startCarriers(carriers, c.hired); err != nil {
		return err
	}
	return c.door.open()
}

// guardedBy has a guard kill what the carriers have started, if this process dies: the carriers themselves the kernel kills.
func (c *children) guardedBy(g *guard) {
	for _, h := range c.links {
		h.carry.guardedBy(g)
	}
	c.summoner.guardedBy(g)
}

// each calls the function for all links at once, and returns what the agents answer. For a link that fails the agent
// at its end does.
func (c *children) each(f func(h *remote) (report, error)) report {
	reports := make([]report, len(c.links))
	var group sync.WaitGroup
	for i, h := range c.links {
		group.Go(func() {
			r, err := f(h)
			if err != nil {
				r = failureOf(h.branch.Host, err)
			}
			reports[i] = r
		})
	}
	group.Wait()
	return slices.Concat(reports...)
}

// meet waits for the agents, has each start those below it, and returns what all say of themselves. The end of ctx
// ends that.
func (c *children) meet(ctx context.Context) report {
	limited, cancel := context.WithTimeoutCause(ctx, c.of.Left, fmt.Errorf("its agent has not answered within %v", c.of.Limit))
	defer cancel()
	limited, unwatch := c.summoner.watch(limited)
	defer unwatch()
	defer c.door.close()
	until := time.Now().Add(c.of.Left)
	return c.each(func(h *remote) (report, error) {
		if err := h.during(limited, h.greet); err != nil {
			err = h.carry.fail(err, limited.Err() != nil)
			if line := h.trunk.skipped(); line != "" {
				err = fmt.Errorf("%w; its output ended with %.200q", err, line)
			}
			return nil, err
		}
		h.carry.report(func(line string) { h.post(func() { c.tell.notice(wordSaid, h.branch.Host, line) }) })
		h.branch.Left = max(time.Until(until), time.Nanosecond)
		return h.ask(ctx, func() {
			h.begin()
			c.group.Go(h.listen)
		})
	})
}

// summoned returns the error of a start, nil for none, as it is where agents are started together: with what has become of that.
func (c *children) summoned(err error) error {
	if err == nil || c.summoner == nil {
		return err
	}
	if why := c.summoner.failure(); why != nil {
		return failure(statusSelf, "launcher %s could not start the agents: %v", c.of.Launcher, why)
	}
	if last := c.summoner.lastSaid(); last != "" {
		return failure(statusOfFailure(err), "%s; launcher %s said last: %s", strings.TrimPrefix(err.Error(), "spawner: "), c.of.Launcher, last)
	}
	return err
}

// assign has the ranks of the hosts below live there, and begins to pass on what they write to their streams. Who
// waits for that waits for the group.
func (c *children) assign(p placement, group *sync.WaitGroup, streams func(rank int) (out, errs *stream, err error)) error {
	for _, h := range c.links {
		h.crew = &crew{of: make(map[int]*standing)}
	}
	for rank, host := range p {
		h := c.via[host]
		if h == nil {
			continue
		}
		s := &standing{}
		var err error
		if s.streams[channelOut], s.streams[channelErr], err = streams(rank); err != nil {
			return err
		}
		h.crew.of[rank] = s
		h.crew.all = append(h.crew.all, contribution{rank: rank})
	}
	for _, h := range c.links {
		h.collect(group)
	}
	return nil
}

// ask sends a word to all agents below, and returns their answers. All get the same copy of the text. The end of ctx
// ends that.
func (c *children) ask(ctx context.Context, w word, text []byte) report {
	return c.each(func(h *remote) (report, error) {
		return h.ask(ctx, func() { h.trunk.sendShared(w, nil, text) })
	})
}

// inquire has all agents below tell what they hold back. Each says so, with the number, when it and those below it
// have.
func (c *children) inquire(number uint32) {
	for _, h := range c.links {
		h.trunk.sendNumber(wordTell, number)
	}
}

// told reports whether all have told what they held back when they were asked with the number.
func (c *children) told(number uint32) bool {
	return !slices.ContainsFunc(c.links, func(h *remote) bool { return h.told < number })
}

// allTold is the number of who tells nothing any more.
const allTold = math.MaxUint32

// dismissTime is how long agents may take to end when the job is over: longer than what they wait for ranks that they
// kill.
const dismissTime = killTime + time.Second

// dismiss lets the agents go, and waits for what has connected them. From then on none counts as lost.
func (c *children) dismiss() {
	c.door.close()
	if c.hired == nil {
		return
	}
	for _, h := range c.links {
		h.trunk.close()
		h.input.close()
		for _, f := range h.flows {
			f.close()
		}
	}
	limit := time.NewTimer(dismissTime)
	defer limit.Stop()
	for _, h := range c.links {
		h.carry.end(limit)
	}
	c.summoner.end(limit)
	close(c.hired)
	c.hired = nil
	c.summoner.wait()
	for _, h := range c.links {
		h.carry.wait()
		h.trunk.cut()
		h.trunk.group.Wait()
	}
}
