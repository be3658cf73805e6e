package main

// #include <stdlib.h>
// #include "ex.h"
import "C"

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// numbered are objects that C knows by number. The place of one that has ended is given to another.
type numbered[T any] struct {
	mu  sync.Mutex
	all atomic.Pointer[[]*T] // nil: free; replaced when it changes
}

// add returns the number of another object.
func (x *numbered[T]) add(object *T) C.int {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []*T
	if p := x.all.Load(); p != nil {
		all = slices.Clone(*p)
	}
	i := slices.Index(all, nil)
	if i < 0 {
		i = len(all)
		all = append(all, nil)
	}
	all[i] = object
	x.all.Store(&all)
	return C.int(i)
}

func (x *numbered[T]) at(number C.int) *T { return (*x.all.Load())[number] }

func (x *numbered[T]) remove(number C.int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := slices.Clone(*x.all.Load())
	all[number] = nil
	x.all.Store(&all)
}

// teams are the program's, and the world, which is team 0.
var teams numbered[extended.Team]

// noTeam is what C gets in place of a number if the caller has joined no team.
const noTeam = -1

// joinedTeam returns the number of a team that the caller has joined, or noTeam.
func joinedTeam(call string, t *extended.Team, err error) C.int {
	check(call, err)
	if t == nil {
		return noTeam
	}
	return teams.add(t)
}

//export aqExSplit
func aqExSplit(self, parent, color, key C.int) C.int {
	t, err := teams.at(parent).Split(context(self), int(color), int(key))
	return joinedTeam("gex_TM_Split", t, err)
}

// aqExCreate makes a team of the members that a list of locations names.
//
//export aqExCreate
func aqExCreate(self, parent C.int, list *C.gex_EP_Location_t, n C.size_t, jobranks C.int) C.int {
	t := teams.at(parent)
	locations := unsafe.Slice(list, n)
	ranks := make([]int, n)
	for i, l := range locations {
		ranks[i] = int(l.gex_rank)
		if jobranks != 0 {
			ranks[i] = t.RankOf(core.Rank(l.gex_rank))
		}
	}
	team, err := t.Subteam(context(self), ranks)
	return joinedTeam("gex_TM_Create", team, err)
}

//export aqExTeam
func aqExTeam(number C.int, rank, size *C.gex_Rank_t, jobranks **C.gex_Rank_t) {
	t := teams.at(number)
	*rank, *size = C.gex_Rank_t(t.Rank()), C.gex_Rank_t(t.Size())
	list := (*C.gex_Rank_t)(C.calloc(C.size_t(t.Size()), C.sizeof_gex_Rank_t))
	copy(unsafe.Slice((*core.Rank)(unsafe.Pointer(list)), t.Size()), t.Members())
	*jobranks = list
}

//export aqExFree
func aqExFree(self, number C.int) {
	check("gex_TM_Destroy", teams.at(number).Free(context(self)))
	teams.remove(number)
}

// aqExRankOf returns a team's rank, or -1, which is GEX_RANK_INVALID.
//
//export aqExRankOf
func aqExRankOf(number C.int, jobrank C.gex_Rank_t) C.int {
	return C.int(teams.at(number).RankOf(core.Rank(jobrank)))
}
