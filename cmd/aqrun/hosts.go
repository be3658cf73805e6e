package main

import (
	"errors"
	"fmt"
	"os"
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
	startTimeout   duration
	placement      *hosts.Placement // nil: all ranks are on this host
}

// flags adds the options to a flag set.
func (w *where) flags(fs *pflag.FlagSet) {
	fs.StringVar(&w.hosts, "host", "", "")
	fs.StringVar(&w.file, "hostfile", "", "")
	fs.VarP((*count)(&w.nodes), "nodes", "N", "")
	fs.Var((*count)(&w.perNode), "ppn", "")
	fs.StringVar(&w.mapBy, "map-by", "", "")
	fs.StringVar(&w.rankBy, "rank-by", "", "")
	fs.BoolVar(&w.oversubscribe, "oversubscribe", false, "")
	fs.StringVar(&w.launcher, "launcher", "", "")
	fs.StringVar(&w.agent, "agent", "", "")
	fs.BoolVar(&w.push, "push", false, "")
	fs.Var(&w.startTimeout, "start-timeout", "")
}

// onHosts are the options that mean something only where hosts are named.
var onHosts = []string{"nodes", "ppn", "map-by", "rank-by", "oversubscribe", "launcher", "agent", "push", "start-timeout"}

// place finds the hosts of n ranks, 0 for as many as there is room for, and returns how many ranks there are.
func (w *where) place(fs *pflag.FlagSet, n int) (int, error) {
	named, err := w.named()
	if err != nil {
		return 0, err
	}
	if named == nil {
		for _, name := range onHosts {
			if fs.Changed(name) {
				return 0, fmt.Errorf("--%s is for jobs on several hosts; name them by --host or --hostfile", name)
			}
		}
		return n, nil
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

// named returns the hosts that options name, nil for none.
func (w *where) named() ([]hosts.Host, error) {
	switch {
	case w.hosts != "" && w.file != "":
		return nil, errors.New("--host and --hostfile both name hosts; give one of them")
	case w.hosts != "":
		return hosts.ParseList(w.hosts)
	case w.file != "":
		text, err := os.ReadFile(w.file)
		if err != nil {
			return nil, fmt.Errorf("--hostfile: %w", err)
		}
		return hosts.ParseFile(w.file, string(text))
	}
	return nil, nil
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
	s.Launch = spawner.Launch{Launcher: w.launcher, Agent: w.agent, Push: w.push, Timeout: time.Duration(w.startTimeout)}
}
