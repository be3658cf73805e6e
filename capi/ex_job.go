package main

// #include <stdlib.h>
// #include "ex.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// aqExConnect has messages go in C from now on, before there are segments.
//
//export aqExConnect
func aqExConnect() { shareState() }

// aqExOpen tells C which ranks share a host and a neighbourhood, and makes the world team 0.
//
//export aqExOpen
func aqExOpen() {
	teams.add(endpoint.World())
	hosts := 0
	for i := range job.Size() {
		hosts = max(hosts, job.Host(core.Rank(i))+1)
	}
	publishGroup(&C.gasneti_ex_host, job.Local(), hosts, job.Host(job.Rank()))
	if endpoint.Core().Reaches() {
		C.gasneti_ex_nbrhd = C.gasneti_ex_host // ranks of one host reach each other's segments, which may come later
	} else {
		publishGroup(&C.gasneti_ex_nbrhd, []core.Rank{job.Rank()}, job.Size(), int(job.Rank()))
	}
}

// publishGroup tells C the ranks, ascending, of one of several groups.
func publishGroup(g *C.struct_gasneti_ex_group, ranks []core.Rank, groups, number int) {
	list := unsafe.Slice((*core.Rank)(C.calloc(C.size_t(len(ranks)), C.sizeof_gex_RankInfo_t)), len(ranks))
	copy(list, ranks)
	self, _ := slices.BinarySearch(ranks, job.Rank())
	g.ranks = (*C.gex_RankInfo_t)(unsafe.Pointer(unsafe.SliceData(list)))
	g.count, g.self = C.gex_Rank_t(len(ranks)), C.gex_Rank_t(self)
	g.groups, g.number = C.gex_Rank_t(groups), C.gex_Rank_t(number)
}
