package grim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
)

// What entries of the translation cache take of the SRAM, in bytes: key, virtual address, size and physical address; and of a run-time
// entry the offset, and the address of each of its pages.
const (
	staticSize  = 24
	runtimeSize = 32
	addressSize = 8
	requestSize = 16 // of what the NIC writes into the kernel's memory at a miss
)

// cache is the translation cache of a NIC. Static entries are for contiguous blocks, for as long as these are registered. Run-time
// entries are what the host has answered at misses; the oldest one makes room for the next.
type cache struct {
	static, room int // static entries, and how many there can be
	entries      []entry
	index        map[entry]bool
	oldest       int
}

// entry is a run-time entry: which memory it is for, and from which offset on. See Region.entryBytes.
type entry struct {
	region *Region
	from   uint64
}

func newCache(p *Profile) cache {
	return cache{room: p.GRIM.Static, entries: make([]entry, p.GRIM.Runtime), index: map[entry]bool{}}
}

// reserve gives a contiguous block a static entry, and reports false if there is none left.
func (c *cache) reserve(r *Region) bool {
	if c.static == c.room {
		return false
	}
	c.static++
	r.static = true
	return true
}

// lookup returns up to n bytes of memory from an offset on, as many as the entry for it tells of and are adjacent in physical memory; nil
// if there is no entry.
func (c *cache) lookup(r *Region, offset uint64, n int) []byte {
	from, _ := r.entryBytes(offset)
	if !r.static && !c.index[entry{r, from}] {
		return nil
	}
	return r.run(offset, n)
}

// add makes a run-time entry.
func (c *cache) add(r *Region, offset uint64) {
	from, _ := r.entryBytes(offset)
	e := entry{r, from}
	if c.index[e] {
		return
	}
	delete(c.index, c.entries[c.oldest])
	c.entries[c.oldest] = e
	c.index[e] = true
	c.oldest = (c.oldest + 1) % len(c.entries)
}

// forget removes what there is of a region.
func (c *cache) forget(r *Region) {
	if r.static {
		c.static--
		r.static = false
	}
	for i, e := range c.entries {
		if e.region == r {
			delete(c.index, e)
			c.entries[i] = entry{}
		}
	}
}

// miss is the interrupt of the host at a miss: the NIC's request is in the kernel's memory.
type miss Program

// Label implements vtime.Labelled.
func (m *miss) Label(_, _ uint64) string { return fmt.Sprintf("GRIM host %d: translation", m.id) }

// The events of a miss.
const (
	missAsked      uint64 = iota // the request is in the host's memory
	missTranslated               // the driver has translated it
	missTold                     // the answer is in the SRAM
)

// Fire implements vtime.Target. The driver serves one interrupt after the other. What it works, the program of the endpoint that the operation is for does not.
func (m *miss) Fire(what, _ uint64) {
	p := (*Program)(m)
	h := p.host
	switch what {
	case missAsked:
		take := h.profile.Host.Interrupt + h.profile.Host.Translate
		p.counts.Misses++
		if e := p.channels[(*p.misses.At(0)).local].owner; e != nil {
			e.interrupt(take)
		}
		p.loop.At(h.memory.kernel.Use(p.loop.Now(), take), m, missTranslated, 0)
	case missTranslated:
		p.nic.HostWrite(runtimeSize+addressSize*h.profile.GRIM.Pages, m, missTold, 0)
	case missTold:
		p.nic.CPU.Raise(evTranslated)
	}
}

// ask asks the host for what the first task that waits lacks.
func (p *Program) ask() {
	request := make([]byte, requestSize)
	p.deposit([]lanai.Block{{Direction: lanai.ToHost, Host: request, SRAM: request, Written: (*miss)(p), Word: missAsked}}, store{then: func() {}})
}

// translated takes the host's answer, and goes on with the task that waits for it.
func (p *Program) translated() { p.spend(p.profile.Steps.Install, p.step.installed) }

func (p *Program) installed() {
	t := *p.misses.At(0)
	p.task = t
	s := &t.spans[0]
	for len(s.sram) == 0 {
		t.spans = t.spans[1:]
		s = &t.spans[0]
	}
	r, offset := p.host.memory.locate(s.at)
	if r == nil {
		p.deny(t)
		return
	}
	p.cache.add(r, offset)
	p.spend(p.profile.Steps.Translate, p.step.translate)
}
