// Package exttest is the conformance suite of the Extended API: what a program may rely on,
// case by case, whatever conduit is below. The cases are those of package coretest, run by
// the same launchers; a conduit's test runs them with
//
//	coretest.Suite(t, exttest.Cases(), kinds...)
//
// once with direct reach of peers' segments and once without (core.Config.NoReach), and over
// a conduit with one-sided operations with those and without (core.Config.NoNative): all
// paths must do the same.
package exttest

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

// Cases returns the suite, in reading order.
func Cases() []*coretest.Case {
	var all []*coretest.Case
	for _, g := range [][]coretest.Case{
		putCases, getCases, eventCases, valueCases, memsetCases, splitCases, visCases,
		atomicCases, orderCases, nativeCases, refusalCases, contextCases, allocationCases, teamCases, barrierCases,
		collectiveCases, movementCases, reductionCases, forcedCases(), progressCases,
		attachCases, typedCases, collectiveMisuseCases, disagreementCases(), hangCases(),
	} {
		for i := range g {
			all = append(all, &g[i])
		}
	}
	return all
}

// attach attaches with the handlers at client indices from core.ClientHandlers on.
func attach(t *coretest.T, handlers ...core.Handler) (*extended.Endpoint, error) {
	spec := core.AttachSpec{Segment: "1MB"}
	for i, f := range handlers {
		spec.Handlers = append(spec.Handlers, core.HandlerEntry{Index: core.ClientHandlers + core.HandlerIndex(i), Func: f})
	}
	return extended.Attach(t.Job, spec)
}
