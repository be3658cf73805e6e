package main

import (
	"bytes"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
)

// What every rank of parcels sends to each rank of its host, and to each of another one.
const (
	parcel   = 32 << 10 // bytes
	nearOnes = 64
	farOnes  = 8
	perHost  = 2 // ranks
)

// parcels has every rank send parcels to every other one.
func parcels() {
	const onParcel = core.ClientHandlers
	aqueduct.Run(func(job *core.Job) error {
		got := 0
		ep, err := job.Attach(core.AttachSpec{Segment: "64KB", Handlers: []core.HandlerEntry{
			{Index: onParcel, Func: func(*core.Token, []uint32, []byte) { got++ }},
		}})
		if err != nil {
			return err
		}
		number := func(r core.Rank) int {
			switch {
			case r == job.Rank():
				return 0
			case r/perHost == job.Rank()/perHost:
				return nearOnes
			}
			return farOnes
		}
		all, data := 0, bytes.Repeat([]byte{1}, parcel)
		for r := range core.Rank(job.Size()) {
			all += number(r)
			for range number(r) {
				if err := ep.RequestLong(r, onParcel, data, 0); err != nil {
					return err
				}
			}
		}
		if err := ep.WaitUntil(func() bool { return got == all }); err != nil {
			return err
		}
		return ep.Barrier()
	})
}

// The kernel's counters tell that what ranks of one host send to each other does not use the network where memory joins them, that
// it does where it is to, and that all else does.
func TestTrafficOfHosts(t *testing.T) {
	n := newNetwork(t, "alpha", "beta")
	const host = "alpha:2,beta:2"
	for _, x := range []struct {
		name     string
		near     bool
		launcher func(*testing.T) []string
	}{
		{"udp", true, func(*testing.T) []string { return []string{aqrun, "--host", host} }},
		{"udp alone", false, func(*testing.T) []string { return []string{aqrun, "--host", host, "-x", "AQUEDUCT_NEAR=off"} }},
		{"openmpi", true, func(t *testing.T) []string {
			libmpitest.Launcher(t, "openmpi")
			return []string{"mpiexec.openmpi", "--allow-run-as-root", "--host", host, "-x", "AQUEDUCT_LIBDIR", "-x", roleEnv}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			sent := func(device string) (bytes []uint64) {
				for _, name := range n.Names {
					bytes = append(bytes, n.Sent(t, name, device))
				}
				return bytes
			}
			argv := x.launcher(t)
			if argv[0] == aqrun {
				argv = append(argv, "-x", roleEnv+"=parcels")
			}
			cmd := n.Command(cluster.Front, append(argv, self(t))...)
			cmd.Env = append(cmd.Env, roleEnv+"=parcels")
			far, near := sent("eth0"), sent("lo")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			n.AwaitNothing(t, deadline)
			const toFar, toNear = perHost * perHost * farOnes * parcel, perHost * (perHost - 1) * nearOnes * parcel
			for i, name := range n.Names {
				f, l := sent("eth0")[i]-far[i], sent("lo")[i]-near[i]
				t.Logf("%s sent %d bytes to the other host and %d to itself, for %d and %d of parcels", name, f, l, toFar, toNear)
				if f < toFar || f > 2*toFar || x.near && l > toNear/10 || !x.near && l < toNear {
					t.Errorf("near parcels or far ones of %s went the wrong way", name)
				}
			}
		})
	}
}
