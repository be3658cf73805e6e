package coll

import (
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

//go:embed peer/peer.c
var peerFiles embed.FS

// peerSource returns the directory of the peer program.
func peerSource() fs.FS {
	src, err := fs.Sub(peerFiles, "peer")
	if err != nil {
		panic(err) // "peer" is a valid path
	}
	return src
}

// Peer is an MPI library, with a way to configure it, that collectives are compared with.
type Peer struct {
	runner.Peer
	network against.Network // of its messages; it is compared with conduits of the same

	cc, run string // its compiler and launcher
	options func(crowded bool) []string
}

// library is an MPI library that may be installed.
type library struct {
	name, packages string
	cc, run        []string // commands to look for, in this order
	banner         string   // what the launcher says of its version
}

var (
	openMPI = library{"Open MPI", "openmpi-bin libopenmpi-dev", []string{"mpicc.openmpi", "mpicc"}, []string{"mpirun.openmpi", "mpirun"}, "open-mpi.org"}
	mpich   = library{"MPICH", "mpich libmpich-dev", []string{"mpicc.mpich", "mpicc"}, []string{"mpiexec.mpich", "mpiexec"}, "HYDRA"}
)

// Peers returns those of what FindPeers found the first time that a conduit is compared with:
// those whose messages take the same way.
func Peers(conduit string) []Peer {
	return slices.DeleteFunc(slices.Clone(found()), func(p Peer) bool { return p.network != against.NetworkOf(conduit) })
}

var found = sync.OnceValue(FindPeers)

// FindPeers returns the libraries that are compared with, installed or not.
func FindPeers() []Peer {
	return []Peer{
		openMPI.peer("x-openmpi", "Open MPI, default settings", against.SharedMemory, openMPIOptions),
		openMPI.peer("x-openmpi-nocma", "Open MPI, btl_vader_single_copy_mechanism none", against.SharedMemory, func(crowded bool) []string {
			return append(openMPIOptions(crowded), "--mca", "btl_vader_single_copy_mechanism", "none")
		}),
		mpich.peer("x-mpich", "MPICH, default settings", against.SharedMemory, func(bool) []string { return nil }),
		openMPI.peer("x-openmpi-tcp", "Open MPI over TCP, btl tcp,self", against.Loopback, func(crowded bool) []string {
			return append(openMPIOptions(crowded), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")
		}),
	}
}

// openMPIOptions are for ranks that pin themselves. The library would judge by the CPUs of
// the rank that starts it whether to yield, so it is told.
func openMPIOptions(crowded bool) []string {
	yield := "0"
	if crowded {
		yield = "1"
	}
	options := []string{"--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", yield}
	if os.Geteuid() == 0 {
		options = append(options, "--allow-run-as-root")
	}
	return options
}

// peer looks for the library's commands.
func (l *library) peer(unit, name string, network against.Network, options func(crowded bool) []string) Peer {
	p := Peer{Peer: runner.Peer{Unit: unit, Name: name}, network: network, options: options}
	if p.run = find(l.run, l.banner); p.run != "" {
		p.cc = l.compiler()
	}
	if p.cc == "" {
		p.Missing = l.name + " is not installed (apt-get install " + l.packages + ")"
	}
	return p
}

// compiler returns the library's compiler. Should a plain mpicc be another library's, the
// peer program notices that it is not one job.
func (l *library) compiler() string {
	for _, name := range l.cc {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// find returns the first of the commands that is installed and whose version names the
// library.
func find(commands []string, banner string) string {
	for _, name := range commands {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if text, err := exec.Command(path, "--version").CombinedOutput(); err == nil && strings.Contains(string(text), banner) {
			return path
		}
	}
	return ""
}

// Describe says in a line which peers of a conduit are measured and which are missing.
func Describe(conduit string) string {
	var peers []runner.Peer
	for _, p := range Peers(conduit) {
		peers = append(peers, p.Peer)
	}
	return runner.Describe(peers)
}
