// Package mpipeer measures libraries of MPI and OpenSHMEM that are installed, by C programs that each library's
// own compiler command compiles: peers of collectives, and of the conduit that stands on such a library.
package mpipeer

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

//go:embed programs
var programs embed.FS

// compile makes the library's program, unless it is there, and returns its path.
func (p *Peer) compile(ctx context.Context) (string, error) {
	src, err := fs.Sub(programs, "programs")
	if err != nil {
		panic(err) // "programs" is a valid path
	}
	return floor.Compile(ctx, []string{p.cc, "-D" + p.program}, src)
}

// Peer is a library of MPI or OpenSHMEM, with a way to configure it, that others are compared with.
type Peer struct {
	runner.Peer
	Library string // with default settings: its name, for one of MPI the conduit's profile; else ""
	TCP     bool   // its messages go through the loopback interface, not through shared memory
	// Multiple: it is initialised with MPI_THREAD_MULTIPLE, as for programs that call MPI beside the
	// conduit, and not as by most programs, with MPI_Init.
	Multiple bool

	cc, run string // its compiler and launcher
	program string // what the sources call its program
	lacks   []string
	hosts   string // the launcher's option for hosts with their slots
	far     bool   // On has placed it
	options func(crowded bool) []string
}

// On returns the library as a peer whose n ranks are divided in order among hosts, which its launcher reaches by ssh; none: they are on
// this host.
func (p *Peer) On(hosts []string, n int) *Peer {
	if len(hosts) == 0 {
		return p
	}
	var all []string
	for i, h := range hosts {
		if slots := n*(i+1)/len(hosts) - n*i/len(hosts); slots > 0 {
			all = append(all, h+":"+strconv.Itoa(slots))
		}
	}
	q := *p
	q.far = true
	q.options = func(crowded bool) []string { return append(p.options(crowded), p.hosts, strings.Join(all, ",")) }
	return &q
}

// library is a library that may be installed.
type library struct {
	name, packages string
	program        string   // what the sources call its program
	lacks          []string // operations of the other programs
	hosts          string   // the launcher's option for hosts
	cc, run        []string // commands to look for, in this order
	banner         string   // what the launcher says of its version
}

var (
	openMPI = library{"Open MPI", "openmpi-bin libopenmpi-dev", mpi, nil, "--host", []string{"mpicc.openmpi", "mpicc"}, []string{"mpirun.openmpi", "mpirun"}, "open-mpi.org"}
	mpich   = library{"MPICH", "mpich libmpich-dev", mpi, nil, "-hosts", []string{"mpicc.mpich", "mpicc"}, []string{"mpiexec.mpich", "mpiexec"}, "HYDRA"}
	// It has no messages with two sides, and so no stream of them; a round trip is of puts that the other waits for.
	openSHMEM = library{"OpenSHMEM of Open MPI", "openmpi-bin libopenmpi-dev", "PEER_SHMEM", []string{"stream"}, "--host", []string{"oshcc"}, []string{"oshrun"}, "OpenRTE"}
)

// mpi is what the sources call the program for libraries of MPI.
const mpi = "PEER_MPI"

// OpenSHMEM is Peer.Library of the library of OpenSHMEM.
const OpenSHMEM = "openshmem"

// Found returns what Find found the first time.
var Found = sync.OnceValue(Find)

// Find returns the libraries that are compared with, installed or not.
func Find() []Peer {
	multiple := openMPI.peer("x-multiple", "Open MPI, with MPI_THREAD_MULTIPLE", "openmpi", false, openMPIOptions)
	multiple.Multiple = true
	return []Peer{
		openMPI.peer("x-openmpi", "Open MPI, default settings", "openmpi", false, openMPIOptions),
		multiple, // Open MPI has locks then; MPICH's cost little
		openMPI.peer("x-openmpi-nocma", "Open MPI, btl_vader_single_copy_mechanism none", "", false, func(crowded bool) []string {
			return append(openMPIOptions(crowded), "--mca", "btl_vader_single_copy_mechanism", "none")
		}),
		mpich.peer("x-mpich", "MPICH, default settings", "mpich", false, func(bool) []string { return nil }),
		openSHMEM.peer("x-openshmem", "OpenSHMEM of Open MPI, default settings", OpenSHMEM, false, func(crowded bool) []string {
			return append(openMPIOptions(crowded), "-x", "SHMEM_SYMMETRIC_HEAP_SIZE=64M")
		}),
		openMPI.peer("x-openmpi-tcp", "Open MPI over TCP, btl tcp,self", "", true, func(crowded bool) []string {
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
func (l *library) peer(unit, name, profile string, tcp bool, options func(crowded bool) []string) Peer {
	p := Peer{Peer: runner.Peer{Unit: unit, Name: name}, Library: profile, TCP: tcp, options: options, hosts: l.hosts, program: l.program, lacks: l.lacks}
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

// peerSample is how long a sample of a peer lasts.
const peerSample = 10 * time.Millisecond

// Ref returns the peer doing op on the given CPUs; there is no such thing if the library has no such operation. crowded says that there
// are more ranks than CPUs.
func (p *Peer) Ref(op string, size int, cpus []int, crowded bool) runner.Ref {
	return runner.Ref{Unit: p.Unit, What: p.Name, Peer: true, Far: p.far, Open: func(ctx context.Context) (bench.Meter, io.Closer, error) {
		if slices.Contains(p.lacks, op) {
			return nil, nil, nil
		}
		exe, err := p.compile(ctx)
		if err != nil {
			return nil, nil, err
		}
		argv := slices.Concat(p.options(crowded), []string{"-n", strconv.Itoa(len(cpus)), exe, op, floor.List(cpus), strconv.Itoa(size)})
		if p.Multiple {
			argv = append(argv, "multiple")
		}
		program, err := floor.Command(ctx, p.Name+" "+op, "env", slices.Concat(forget(), []string{p.run}, argv)...)
		if err != nil {
			return nil, nil, err
		}
		iters, err := bench.Calibrate(peerSample, func(n int) (float64, error) { return program.Meter(n)() })
		if err != nil {
			return nil, nil, fmt.Errorf("%w (closing: %v)", err, program.Close())
		}
		return program.Meter(iters), program, nil
	}}
}

// forget returns options of env that hide from a launcher that this process was itself started by
// one.
func forget() []string {
	var options []string
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		for _, prefix := range []string{"OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "ORTE_", "HYDI_", "HYDRA_"} {
			if strings.HasPrefix(name, prefix) {
				options = append(options, "-u", name)
			}
		}
	}
	return options
}
