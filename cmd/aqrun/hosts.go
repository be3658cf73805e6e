package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/hosts"
	"github.com/spf13/pflag"
)

// where are the options that say on which hosts the ranks live.
type where struct {
	hosts, file    string
	nodes, perNode int
	mapBy, rankBy  string
	oversubscribe  bool
	launcher       string
	agent          string
	push           bool
	keyFile        string
	hostID         string
	startTimeout   duration
	treeWidth      int
	hostTimeout    duration
	who            string           // names the hosts
	placement      *hosts.Placement // nil: all ranks are on this host, without an agent
}

// flags adds the options to a flag set.
func (w *where) flags(fs *pflag.FlagSet) {
	fs.StringVar(&w.hosts, "host", "", "live on these hosts: a,b or a:2,node[01-16]:4, with the number of slots, by default 1, as a `LIST`; without -n there is a rank on each slot")
	fs.StringVar(&w.file, "hostfile", "", "live on the hosts of `FILE`, lines as a, a:2 or a slots=2")
	fs.VarP((*count)(&w.nodes), "nodes", "N", "use the first `N` hosts, a rank on each at least")
	fs.Var((*count)(&w.perNode), "ppn", "`N` ranks on each host")
	fs.StringVar(&w.mapBy, "map-by", "", "take slots by `WHAT`: slot (default: all of a host, then the next) or node")
	fs.StringVar(&w.rankBy, "rank-by", "", "number ranks by `WHAT`: slot or node (default as --map-by)")
	fs.BoolVar(&w.oversubscribe, "oversubscribe", false, "more ranks than slots")
	fs.StringVar(&w.launcher, "launcher", "", "reach hosts by the launcher `NAME`: ssh (default), local, which pretends, or a command with %H, %C, %N and %L")
	fs.StringVar(&w.agent, "agent", "", "`PATH` of aqrun on the hosts (default where it is here, or in their PATH)")
	fs.BoolVar(&w.push, "push", false, "copy aqrun to the hosts for the time of the job")
	fs.StringVar(&w.keyFile, "key-file", "", "`FILE` with the key of agents, the same on all hosts (default a new key, which the environment carries)")
	fs.StringVar(&w.hostID, "host-id", hostByKernel, "tell hosts apart by `WHAT`: kernel (its boot, namespaces and /dev/shm; two names of one host are refused) or name")
	fs.Var(&w.startTimeout, "start-timeout", "how long agents may take to start, a `TIME` (default 1m)")
	fs.Var((*count)(&w.treeWidth), "tree-width", "aqrun and each agent start `N` agents at most, who start the others (default 32)")
	fs.Var(&w.hostTimeout, "host-timeout", "a host that is not heard for `TIME` is lost (default 6s)")
}

// onHosts are the options that mean something only where hosts are named.
var onHosts = []string{"nodes", "ppn", "map-by", "rank-by", "oversubscribe", "launcher", "agent", "push", "key-file", "host-id", "start-timeout", "tree-width", "host-timeout"}

// What tells hosts from each other.
const (
	hostByKernel = "kernel" // and by namespaces and /dev/shm
	hostByName   = "name"
)

// place finds the hosts of n ranks, 0 for as many as there is room for, and returns how many ranks there are. With here
// the ranks share this host in any case, so that an allocation of a batch system counts for nothing.
func (w *where) place(fs *pflag.FlagSet, n int, here bool) (int, error) {
	env := hosts.Environment{Getenv: os.Getenv, ReadFile: os.ReadFile}
	var named []hosts.Host
	var err error
	if !here || !w.allocated() {
		if named, w.who, err = env.Find(w.hosts, w.file); err != nil {
			return 0, err
		}
	}
	given := slices.ContainsFunc(onHosts, fs.Changed)
	if named == nil && given {
		name := onHosts[slices.IndexFunc(onHosts, fs.Changed)]
		return 0, fmt.Errorf("--%s is for jobs on several hosts; name them by --host or --hostfile", name)
	}
	if named == nil || w.allocated() && !given && n > 0 && len(named) == 1 && spawner.IsHere(named[0].Name) {
		return n, nil
	}
	if w.hostID != hostByKernel && w.hostID != hostByName {
		return 0, fmt.Errorf("--host-id %s: want %s or %s", w.hostID, hostByKernel, hostByName)
	}
	if d := time.Duration(w.hostTimeout); fs.Changed("host-timeout") && d < spawner.MinSilence {
		return 0, fmt.Errorf("--host-timeout %v is too short: beats that are late are not lost; want %v at least", d, spawner.MinSilence)
	}
	r := hosts.Request{Ranks: n, Nodes: w.nodes, PerNode: w.perNode, Oversubscribe: w.oversubscribe}
	if fs.Changed("map-by") {
		if r.MapBy, err = hosts.ParseOrder("--map-by", w.mapBy); err != nil {
			return 0, err
		}
	}
	if fs.Changed("rank-by") {
		if r.RankBy, err = hosts.ParseOrder("--rank-by", w.rankBy); err != nil {
			return 0, err
		}
	}
	if w.placement, err = hosts.Place(named, r); err != nil {
		return 0, err
	}
	return len(w.placement.HostOf), nil
}

// allocated reports whether the hosts, if there are any, are those of an allocation of a batch system.
func (w *where) allocated() bool { return w.hosts == "" && w.file == "" }

// notes returns what users are told of the placement: that an allocation has chosen the hosts, and that there are more ranks than slots.
func (w *where) notes() (all []string) {
	if w.placement == nil {
		return nil
	}
	if w.allocated() {
		all = append(all, fmt.Sprintf("the ranks are on the hosts that %s has allocated; --host and --hostfile choose others", w.who))
	}
	if over := w.placement.Oversubscribed(); over != "" {
		all = append(all, over)
	}
	return all
}

// spec adds to a Spec where its ranks live.
func (w *where) spec(s *spawner.Spec) {
	if w.placement == nil {
		return
	}
	for _, h := range w.placement.Hosts {
		s.Hosts = append(s.Hosts, h.Name)
	}
	s.HostOf = w.placement.HostOf
	s.Launch = spawner.Launch{
		Launcher: w.launcher, Agent: w.agent, Push: w.push, KeyFile: w.keyFile, ByName: w.hostID == hostByName, Timeout: time.Duration(w.startTimeout),
		Width: w.treeWidth, Silence: time.Duration(w.hostTimeout),
	}
}
