package main

// #include "coll.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// image is what a thread is in collective calls.
type image struct {
	member    int           // 1 more than its number among the images of this rank; 0: it is none
	aggregate []*collective // calls that have no handle yet
}

// collectives is the state of all collective calls of this rank.
var collectives struct {
	mu      sync.Mutex
	images  int // of this rank, that have called gasnet_coll_init
	fns     []C.gasnet_coll_fn_entry_t
	teams   []*collTeam // by handle less 1
	handles map[uint64]handle
	last    uint64        // handle
	moved   atomic.Uint64 // how often something has changed that images wait for
}

// handle is what a handle of the program's stands for.
type handle struct {
	calls []*collective
	self  C.int // the thread whose it is
}

// collTeam is a team, with the images of its members.
type collTeam struct {
	*extended.Team
	images  []int         // of each member
	first   []int         // the number of each member's first one
	made    []uint64      // calls of each of this rank's images
	waiting []*collective // calls that begin one after the other, the same on all members
	passed  uint64        // calls before those
}

func newCollTeam(t *extended.Team, images []int) *collTeam {
	first, n := make([]int, len(images)), 0
	for i, k := range images {
		first[i] = n
		n += k
	}
	return &collTeam{Team: t, images: images, first: first, made: make([]uint64, images[t.Rank()])}
}

// own returns the number of this rank's images.
func (t *collTeam) own() int { return len(t.made) }

// total returns the number of all images.
func (t *collTeam) total() int {
	last := len(t.images) - 1
	return t.first[last] + t.images[last]
}

// even reports whether every member has one image.
func (t *collTeam) even() bool { return t.total() == t.Size() }

// member returns whose image this is, and its number there.
func (t *collTeam) member(im int) (rank, index int) {
	for rank+1 < len(t.first) && t.first[rank+1] <= im {
		rank++
	}
	return rank, im - t.first[rank]
}

// shares returns how many of so many bytes for each image the members have.
func (t *collTeam) shares(size int) extended.Blocks {
	return extended.Blocks{Lens: t.images, Unit: size}
}

// stages of a call.
const (
	called  = iota
	entered // the barrier before has begun, if there is one
	moving  // so has the movement of data
	left    // so has the barrier behind
	complete
)

type collCall C.struct_gasneti_coll_call

// collective is a call of all images of this rank.
type collective struct {
	collCall // of the first of them
	call     string
	team     *collTeam
	dst, src []C.uintptr_t // of this rank's images
	posted   int           // images that have called
	stage    int
	ev       extended.Event // what the stage waits for; 0: nothing
	waited   bool           // an image waits for ev
	finish   func()         // when the data has moved
}

func (k *collective) flag(f C.int) bool { return k.flags&f != 0 }

// allsync reports whether the call has a flag, or none of the others that it may have instead.
func (k *collective) allsync(all, others C.int) bool { return k.flag(all) || !k.flag(others) }

func (k *collective) syncsIn() bool {
	return k.allsync(C.GASNET_COLL_IN_ALLSYNC, C.GASNET_COLL_IN_NOSYNC|C.GASNET_COLL_IN_MYSYNC)
}

func (k *collective) syncsOut() bool {
	return k.allsync(C.GASNET_COLL_OUT_ALLSYNC, C.GASNET_COLL_OUT_NOSYNC|C.GASNET_COLL_OUT_MYSYNC)
}

// begun reports whether the call begins nothing more, so that the next one may.
func (k *collective) begun() bool { return k.stage >= left || k.stage == moving && !k.syncsOut() }

// step takes a call that all images of this rank have made as far as it gets.
func (k *collective) step(c *extended.Context) {
	var err error
	if k.ev != 0 {
		if k.waited {
			return
		}
		var done bool
		if done, err = c.Test(k.ev); !done {
			k.check(err)
			return
		}
		k.ev = 0
	}
	for k.ev == 0 && k.stage < complete {
		k.stage++
		switch {
		case k.stage == entered && k.syncsIn():
			k.ev, err = k.team.BarrierNB(c)
		case k.stage == moving:
			k.ev, err = k.move(c)
		case k.stage == left:
			if k.finish != nil {
				k.finish()
			}
			if k.syncsOut() {
				k.ev, err = k.team.BarrierNB(c)
			}
		}
		k.check(err)
	}
}

// check ends the job if err is not nil.
func (k *collective) check(err error) { check(k.call, err) }

// misuse ends the job because of the call.
func (k *collective) misuse(format string, args ...any) {
	k.check(&core.UsageError{Rank: job.Rank(), Op: k.call, Msg: fmt.Sprintf(format, args...)})
}

// advance lets the team's calls go on, each when those before it have begun.
func (t *collTeam) advance(c *extended.Context) {
	for len(t.waiting) > 0 && t.waiting[0].posted == t.own() {
		k := t.waiting[0]
		if k.step(c); !k.begun() {
			break
		}
		t.waiting[0] = nil
		t.waiting = t.waiting[1:]
		t.passed++
	}
}

// advance lets the calls of all teams go on. The caller has mu.
func advance(c *extended.Context) {
	pending := false
	for _, t := range collectives.teams {
		t.advance(c)
		pending = pending || len(t.waiting) > 0 && t.waiting[0].stage > called
	}
	flag := C.int(0)
	if pending {
		flag = 1
	}
	atomic.StoreInt32((*int32)(unsafe.Pointer(&C.gasneti_coll_pending)), int32(flag))
}

// aqCollProgress lets collective calls go on while the rank does something else.
//
//export aqCollProgress
func aqCollProgress(self C.int) {
	if collectives.mu.TryLock() {
		advance(context(self))
		collectives.mu.Unlock()
		collectives.moved.Add(1)
	}
}

// done advances and reports whether the call is complete. The caller has mu.
func (k *collective) done(c *extended.Context) bool {
	if !k.begun() {
		advance(c)
	}
	if k.begun() {
		k.step(c)
	}
	return k.stage == complete
}

// blocker returns the call whose event k waits for.
func (k *collective) blocker() *collective {
	if k.stage == called {
		return k.team.waiting[0]
	}
	return k
}

// await waits until one of the calls may have gone on. The caller has mu, which is released meanwhile.
func await(c *extended.Context, calls []*collective) {
	var evs []extended.Event
	var whose []*collective
	for _, k := range calls {
		if b := k.blocker(); b.ev != 0 && !b.waited {
			b.waited = true
			evs, whose = append(evs, b.ev), append(whose, b)
		}
	}
	seen := collectives.moved.Load()
	collectives.mu.Unlock()
	var err error
	if len(evs) > 0 {
		err = c.WaitSome(evs)
	} else { // other images of this rank have to call, or wait for the same
		err = c.WaitSilent(func() bool { return collectives.moved.Load() != seen })
	}
	check("gasnet_coll_wait_sync", err)
	collectives.mu.Lock()
	for i, b := range whose {
		b.ev, b.waited = evs[i], false
	}
	collectives.moved.Add(1)
}

// teamOf returns the team of a handle.
func teamOf(call string, h C.uintptr_t) *collTeam {
	collectives.mu.Lock()
	defer collectives.mu.Unlock()
	if collectives.images == 0 {
		check(call, errors.New("called before gasnet_coll_init"))
	}
	if h == 0 || h > C.uintptr_t(len(collectives.teams)) {
		check(call, fmt.Errorf("there is no team %#x", uint64(h)))
	}
	return collectives.teams[h-1]
}

// aqCollInit makes the calling thread an image (gasnet_coll_init).
//
//export aqCollInit
func aqCollInit(self C.int, images *C.gasnet_image_t, mine C.gasnet_image_t, fns *C.gasnet_coll_fn_entry_t, nfns C.size_t) {
	const call = "gasnet_coll_init"
	t := of(self)
	each := make([]int, job.Size())
	for i := range each {
		each[i] = 1
		if images != nil {
			each[i] = int(unsafe.Slice(images, len(each))[i])
		}
		if each[i] < 1 || each[i] > 1 && job.Config().Threads != core.Many {
			check(call, fmt.Errorf("rank %d has %d images; want 1, or more with GASNET_PAR", i, each[i]))
		}
	}
	team := newCollTeam(endpoint.World(), each)
	member := int(mine) - team.first[team.Rank()]
	if images == nil {
		member = 0
	}
	table, err := list[C.gasnet_coll_fn_entry_t](unsafe.Pointer(fns), nfns)
	s := &collectives
	s.mu.Lock()
	switch {
	case err != nil:
	case member < 0 || member >= team.own():
		err = fmt.Errorf("image %d is none of rank %d, whose first is %d of %d", mine, job.Rank(), team.first[team.Rank()], team.own())
	case t.image.member != 0 || s.images == team.own():
		err = errLate
	case s.images == 0:
		s.teams, s.handles = []*collTeam{team}, make(map[uint64]handle)
		s.fns = append(s.fns, table...)
	}
	check(call, err)
	t.image.member = member + 1
	s.images++
	k := s.teams[0].post(t, call, &collCall{op: C.GASNETI_INIT}) // a barrier, since it has no flags
	for !k.done(t.Context) {
		await(t.Context, []*collective{k})
	}
	s.mu.Unlock()
}

// post adds an image's call, and lets it go on if all of this rank's images have made it. The caller has mu.
func (t *collTeam) post(th *thread, call string, from *collCall) *collective {
	me := th.image.member - 1
	who := []int{me}
	if from.flags&C.GASNET_COLL_NO_IMAGES != 0 {
		for i := range t.own() - 1 {
			who = append(who, (me+i+1)%t.own())
		}
	}
	at := t.made[me] - t.passed
	if at == uint64(len(t.waiting)) {
		k := &collective{collCall: *from, call: call, team: t}
		k.dst, k.src = make([]C.uintptr_t, t.own()), make([]C.uintptr_t, t.own())
		k.inspect()
		t.waiting = append(t.waiting, k)
	}
	k := t.waiting[at]
	if from.op != k.op || from.size != k.size || from.root != k.root {
		k.misuse("another image of the rank made call %d with other arguments, or as another one", t.made[me])
	}
	for _, i := range who {
		t.made[i]++
		k.posted++
		k.dst[i] = t.address(from.dst, from.dst_list, from.flags, i)
		k.src[i] = t.address(from.src, from.src_list, from.flags, i)
	}
	advance(th.Context)
	collectives.moved.Add(1)
	return k
}

// address returns the address of image i of this rank, which may be in a list.
func (t *collTeam) address(p C.uintptr_t, isList, flags C.int, i int) C.uintptr_t {
	if isList == 0 || p == 0 {
		return p
	}
	if flags&C.GASNET_COLL_LOCAL == 0 {
		i += t.first[t.Rank()]
	}
	return *(*C.uintptr_t)(unsafe.Add(pointer(p), i*C.sizeof_uintptr_t))
}

// inspect ends the job if the arguments that all images share are wrong.
func (k *collective) inspect() {
	const in, out = C.GASNET_COLL_IN_NOSYNC | C.GASNET_COLL_IN_MYSYNC | C.GASNET_COLL_IN_ALLSYNC, C.GASNET_COLL_OUT_NOSYNC | C.GASNET_COLL_OUT_MYSYNC | C.GASNET_COLL_OUT_ALLSYNC
	for _, set := range []C.int{in, out, C.GASNET_COLL_SINGLE | C.GASNET_COLL_LOCAL} {
		if f := k.flags & set; f&(f-1) != 0 {
			k.misuse("flags %#x contradict each other", uint32(k.flags))
		}
	}
	elements := k.op == C.GASNETI_REDUCE || k.op == C.GASNETI_SCAN
	switch {
	case k.size > maxMemory || k.count > maxMemory || k.op != C.GASNETI_INIT && k.size == 0:
		k.misuse("blocks or elements of %d bytes", uint64(k.size))
	case int(k.root) >= k.team.total():
		k.misuse("there is no image %d of %d", k.root, k.team.total())
	case elements && k.layout != 0:
		k.misuse("arrays in blocks of less than elem_count elements, or with an offset, are not reduced; block sizes and offsets are 0")
	case elements && (int(k.fn) < 0 || int(k.fn) >= len(collectives.fns) || collectives.fns[k.fn].fnptr == nil):
		k.misuse("the table of gasnet_coll_init has no function %d", k.fn)
	case k.op == C.GASNETI_SCAN && k.flag(C.GASNET_COLL_INCLUSIVE_SCAN) == k.flag(C.GASNET_COLL_EXCLUSIVE_SCAN):
		k.misuse("a scan is inclusive or exclusive")
	}
}

// aqColl is a collective call. It returns a handle, 0 if there is nothing to wait for.
//
//export aqColl
func aqColl(self C.int, call *C.char, blocking C.int, from *C.struct_gasneti_coll_call) C.uint64_t {
	name, th := C.GoString(call), of(self)
	t := teamOf(name, from.team)
	if th.image.member == 0 {
		check(name, errors.New("called by a thread that has not called gasnet_coll_init"))
	}
	s := &collectives
	s.mu.Lock()
	defer s.mu.Unlock()
	k := t.post(th, name, (*collCall)(from))
	if blocking != 0 {
		for !k.done(th.Context) {
			await(th.Context, []*collective{k})
		}
		return 0
	}
	th.image.aggregate = append(th.image.aggregate, k)
	if from.flags&C.GASNET_COLL_AGGREGATE != 0 {
		return 0
	}
	calls := th.image.aggregate
	if len(calls) == 1 && k.done(th.Context) {
		th.image.aggregate = calls[:0]
		return 0
	}
	th.image.aggregate = nil
	s.last++
	s.handles[s.last] = handle{calls, self}
	return C.uint64_t(s.last)
}

// aqCollSync synchronises handles, all or some of them, at once or by waiting. Those that are synchronised become 0.
//
//export aqCollSync
func aqCollSync(self C.int, call *C.char, hs *C.uint64_t, n C.size_t, wait, all C.int) C.int {
	name, c := C.GoString(call), context(self)
	teamOf(name, 1)
	if wait == 0 {
		check(name, c.Poll())
	}
	s := &collectives
	s.mu.Lock()
	defer s.mu.Unlock()
	handles := unsafe.Slice((*uint64)(hs), n)
	for {
		var open []*collective
		some, left := false, false
		for i, h := range handles {
			if h == 0 {
				continue
			}
			which, ok := s.handles[h]
			if !ok || job.Config().Threads == core.Many && which.self != self {
				check(name, fmt.Errorf("%#x is no handle of this thread's; each is synchronised once", h))
			}
			before := len(open)
			for _, k := range which.calls {
				if !k.done(c) {
					open = append(open, k)
				}
			}
			if len(open) == before && all == 0 {
				delete(s.handles, h)
				handles[i], some = 0, true
			}
			left = left || len(open) > before
		}
		switch {
		case !left && all != 0: // all at once
			for i, h := range handles {
				delete(s.handles, h)
				handles[i] = 0
			}
			return C.GASNET_OK
		case !left || some:
			return C.GASNET_OK
		case wait == 0:
			return C.GASNET_ERR_NOT_READY
		}
		await(c, open)
	}
}
