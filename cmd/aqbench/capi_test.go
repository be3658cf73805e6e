package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/capi"
)

// TestPlansOf has the verb measure over a network too what crosses there, unless something else is asked for.
func TestPlansOf(t *testing.T) {
	for _, c := range []struct {
		conduit string
		ops     []string
		want    []string
	}{
		{"", nil, []string{fmt.Sprint("sci ", capi.Ops()), fmt.Sprint("udp ", capi.NetworkOps())}},
		{"", []string{capi.Put}, []string{"sci [put]"}},
		{"udp", nil, []string{fmt.Sprint("udp ", capi.Ops())}},
		{"udp", []string{capi.Put}, []string{"udp [put]"}},
	} {
		var got []string
		for _, p := range plansOf(&capi.Plan{Conduit: c.conduit}, c.ops) {
			got = append(got, fmt.Sprint(p.Conduit, " ", p.Ops))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("conduit %q, operations %v: %v; want %v", c.conduit, c.ops, got, c.want)
		}
	}
}
