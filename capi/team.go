package main

// #include "coll.h"
import "C"

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

// Barriers of teams, and new ones.

//export aqTeamNotify
func aqTeamNotify(self C.int, team C.uintptr_t, id, flags C.int) {
	const call = "gasnet_coll_barrier_notify"
	check(call, teamOf(call, team).Notify(context(self), int32(id), barrierFlags(flags)))
}

//export aqTeamWait
func aqTeamWait(self C.int, team C.uintptr_t, id, flags C.int) C.int {
	const call = "gasnet_coll_barrier_wait"
	return outcome(call, teamOf(call, team).WaitBarrier(context(self), int32(id), barrierFlags(flags)))
}

//export aqTeamTry
func aqTeamTry(self C.int, team C.uintptr_t, id, flags C.int) C.int {
	const call = "gasnet_coll_barrier_try"
	done, err := teamOf(call, team).TryBarrier(context(self), int32(id), barrierFlags(flags))
	if err == nil && !done {
		return C.GASNET_ERR_NOT_READY
	}
	return outcome(call, err)
}

// aqTeamResult returns whether the team's last barrier had a name, and which.
//
//export aqTeamResult
func aqTeamResult(team C.uintptr_t, id *C.int) C.int {
	name, named := teamOf("gasnet_coll_barrier_result", team).BarrierResult()
	if !named {
		return 0
	}
	*id = C.int(name)
	return 1
}

// aqTeamSplit divides a team and returns the caller's new one.
//
//export aqTeamSplit
func aqTeamSplit(self C.int, parent C.uintptr_t, color, key C.gasnet_node_t) C.uintptr_t {
	const call = "gasnet_coll_team_split"
	t := teamOf(call, parent)
	if !t.even() {
		check(call, fmt.Errorf("%v has %d images on %d ranks; a team is divided where each rank has one", t, t.total(), t.Size()))
	}
	part, err := t.Split(context(self), int(color), int(key))
	check(call, err)
	images := make([]int, part.Size())
	for i := range images {
		images[i] = 1
	}
	s := &collectives
	s.mu.Lock()
	defer s.mu.Unlock()
	s.teams = append(s.teams, newCollTeam(part, images))
	return C.uintptr_t(len(s.teams))
}

//export aqTeamSize
func aqTeamSize(team C.uintptr_t) C.gasnet_node_t {
	return C.gasnet_node_t(teamOf("gasnet_coll_team_size", team).Size())
}

// aqTeamNode returns the rank in the job of a team's rank.
//
//export aqTeamNode
func aqTeamNode(team C.uintptr_t, rank C.int) C.gasnet_node_t {
	const call = "gasnet_coll_team_rank2node"
	t := teamOf(call, team)
	if rank < 0 || int(rank) >= t.Size() {
		check(call, fmt.Errorf("%v has no rank %d", t, rank))
	}
	return C.gasnet_node_t(t.Jobrank(int(rank)))
}

// aqTeamRank returns the rank in a team of a rank of the job.
//
//export aqTeamRank
func aqTeamRank(team C.uintptr_t, node C.gasnet_node_t) C.gasnet_node_t {
	const call = "gasnet_coll_team_node2rank"
	t := teamOf(call, team)
	rank := -1
	if int(node) < job.Size() {
		rank = t.RankOf(core.Rank(node))
	}
	if rank < 0 {
		check(call, fmt.Errorf("rank %d of the job is not in %v", node, t))
	}
	return C.gasnet_node_t(rank)
}
