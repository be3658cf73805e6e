// Package links_test runs jobs over udp whose ranks are processes in network namespaces of
// their own, joined by impaired links. It needs root.
package links_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
	"golang.org/x/sys/unix"

	_ "github.com/aqueduct-go/aqueduct/conduits/nbrhd"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
)

// mtu is that of the devices, in bytes of IP packets.
const mtu = 1400

// nodes is how many namespaces there are; more ranks share them.
const nodes = 5

// enterWord as the first argument has this program enter a namespace: see enter.
const enterWord = "enter"

func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == enterWord {
		fmt.Fprintln(os.Stderr, "enter:", enter(os.Args[2], os.Args[3], os.Args[4:]))
		os.Exit(1)
	}
	coretest.RankMain(connect, append(exttest.Cases(), own...)...)
	os.Exit(m.Run())
}

// enter executes a program in one of the namespaces with the given paths, that of the rank. It
// returns only if that fails.
func enter(rank, namespaces string, program []string) error {
	paths := strings.Split(namespaces, ",")
	r, err := strconv.Atoi(rank)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the namespace is the thread's
	if err := tunnel.Enter(paths[r%len(paths)]); err != nil {
		return err
	}
	return syscall.Exec(program[0], program, os.Environ())
}

// network makes namespaces and returns them and what runs jobs in them.
func network(t *testing.T, link string) (*tunnel.Tunnel, coretest.Launcher) {
	t.Helper()
	return networkOf(t, nodes, link)
}

// networkOf is network with so many namespaces.
func networkOf(t *testing.T, nodes int, link string) (*tunnel.Tunnel, coretest.Launcher) {
	t.Helper()
	if shm.RaceEnabled {
		t.Skip("the race detector runs the same over the loopback, and takes minutes over it")
	}
	settings, err := impair.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	tun, err := tunnel.New(tunnel.Config{Nodes: nodes, Settings: settings, Seed: 7, MTU: mtu})
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
		t.Skipf("needs root that may make network namespaces and TUN devices: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tun.Close)
	return tun, spawntest.Behind(prefix(t, tun, nodes)...)
}

// prefix returns the launch prefix that places ranks in the namespaces.
func prefix(t *testing.T, tun *tunnel.Tunnel, nodes int) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := range nodes {
		paths = append(paths, tun.Namespace(i))
	}
	return []string{self, enterWord, "{rank}", strings.Join(paths, ",")}
}

// overHosts runs jobs whose hosts are the first of the namespaces, each with an agent and every so manieth rank. Ranks of one host
// talk through memory, unless told not to.
func overHosts(t *testing.T, tun *tunnel.Tunnel, hosts int) coretest.Launcher {
	t.Helper()
	enter := prefix(t, tun, hosts)
	enter[2] = "%H"
	var names []string
	for i := range hosts {
		names = append(names, strconv.Itoa(i))
	}
	return spawntest.Over(strings.Join(append(enter, "%C"), " "), names...)
}

// config returns the configuration of jobs that use the links. Threads of a rank have nothing to
// do with these: conduits/udp tests them.
func config(settings ...string) core.Config {
	c := core.Config{Conduit: "udp", Threads: core.Single, Settings: map[string]string{"interface": tunnel.Device}}
	for i := 0; i < len(settings); i += 2 {
		c.Settings[settings[i]] = settings[i+1]
	}
	return c
}

// far returns the cases that run with several ranks, with the least number of several and the largest: what is between
// links tell as little from these as one rank, which uses none.
func far(cases []*coretest.Case) []*coretest.Case {
	var all []*coretest.Case
	for _, c := range cases {
		several := slices.DeleteFunc(slices.Clone(c.Ranks), func(n int) bool { return n == 1 })
		if len(several) == 0 {
			continue
		}
		c := *c
		c.Ranks = slices.Compact([]int{slices.Min(several), slices.Max(several)})
		all = append(all, &c)
	}
	return all
}

// crowded returns the cases that run with more ranks than two hosts, with the largest number of them.
func crowded(cases []*coretest.Case) []*coretest.Case {
	var all []*coretest.Case
	for _, c := range cases {
		if most := slices.Max(c.Ranks); most > 2 {
			c := *c
			c.Ranks = []int{most}
			all = append(all, &c)
		}
	}
	return all
}

// bad is what links do that are in a bad state.
const bad = "loss=10%,dup=5%,reorder=10%,hold=200us,corrupt=2%,truncate=1%"

// only returns a Kind.Rest that leaves all but the cases of these names to the rest. Each must be there.
func only(t *testing.T, cases []*coretest.Case, names ...string) func(*coretest.Case) bool {
	t.Helper()
	for _, name := range names {
		if !slices.ContainsFunc(cases, func(c *coretest.Case) bool { return c.Name == name }) {
			t.Fatalf("there is no case %q", name)
		}
	}
	return func(c *coretest.Case) bool { return !slices.Contains(names, c.Name) }
}

// alone is the configuration of jobs over hosts whose ranks use the network also within a host.
func alone() core.Config {
	c := config()
	c.Near = core.NearOff
	return c
}

// TestConformance runs shares of the suite over good links and bad ones, with a host for each rank and with two hosts. The tests of this package are beside each other, for
// some wait until a peer counts as lost.
//
// A job over hosts takes twice the time of another, for its agents. What these change the pairs meet in a case of each group that
// depends on them: who is near, the segments of near ranks, barriers in which hosts meet, ends that agents pass on, and the
// order of messages of both ways. All else is below them, and the other kinds and [spawner]'s own tests have it.
func TestConformance(t *testing.T) {
	t.Parallel()
	clean, good := network(t, "")
	faulty, poor := network(t, bad)
	coretest.Suite(t, far(coretest.Cases()),
		coretest.Kind{Name: "clean", Share: 3, Launcher: good, Config: config("security", "none", "insecure", "yes"), Factors: "links"},
		coretest.Kind{Name: "bad", Share: 2, Launcher: poor, Config: config(), Factors: "links"})
	cases := crowded(coretest.Cases())
	coretest.Suite(t, cases,
		coretest.Kind{Name: "hosts/clean", Launcher: overHosts(t, clean, 2), Config: config(), Factors: "links",
			Rest: only(t, cases, "attach/segment-sizes", "barrier/all-sizes", "exit/finish-serves", "segment/peer-returns")},
		coretest.Kind{Name: "hosts/bad", Launcher: overHosts(t, faulty, 2), Config: config(), Factors: "links",
			Rest: only(t, cases, "group/parity", "order/exactly-once")},
		coretest.Kind{Name: "hosts/bad-alone", Launcher: overHosts(t, faulty, 2), Config: alone(), Factors: "links",
			Rest: only(t, cases, "message/payload")})
	travelled(t, clean)
	travelled(t, faulty)
}

// some are cases of each part of the extended suite. Those that go through all sizes one after
// the other would say no more here, and take minutes: each waits for what was lost.
var some = []string{
	"put/forms", "put/large", "put/before-message", "event/sync", "value/in-flight", "split/all-to-one",
	"vis/dimensions", "atomic/tickets", "atomic/many", "team/split", "barrier/names", "collective/ahead", "collective/mixed",
}

// TestExtended runs some of the extended suite over bad links, with a host for each rank and with two hosts. The pairs have over
// hosts what near ranks do otherwise than far ones: atomic operations in place, collectives and teams in two levels, and puts by memory.
func TestExtended(t *testing.T) {
	t.Parallel()
	tun, l := network(t, bad)
	var cases []*coretest.Case
	for _, c := range exttest.Cases() {
		if slices.Contains(some, c.Name) {
			cases = append(cases, c)
		}
	}
	if len(cases) != len(some) {
		t.Fatalf("there are only %d cases of %q", len(cases), some)
	}
	coretest.Suite(t, far(cases), coretest.Kind{Name: "bad", Launcher: l, Config: config("security", "encrypt")})
	cases = crowded(exttest.Cases())
	hosts := overHosts(t, tun, 2)
	coretest.Suite(t, cases,
		coretest.Kind{Name: "hosts", Launcher: hosts, Config: config(), Factors: "links",
			Rest: only(t, cases, "put/before-message", "atomic/many", "team/split", "barrier/names", "collective/mixed")},
		coretest.Kind{Name: "hosts-alone", Launcher: hosts, Config: alone(), Factors: "links",
			Rest: only(t, cases, "put/forms", "collective/ahead")})
	travelled(t, tun)
}

// travelled checks that packets went over the links, and reports what happened to them.
func travelled(t *testing.T, tun *tunnel.Tunnel) {
	t.Helper()
	s := tun.Stats()
	t.Log(s)
	if s.Delivered < 1000 {
		t.Errorf("too few packets used the links: %v", s)
	}
}
