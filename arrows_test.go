package aqueduct_test

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/aqueduct-go/aqueduct"

// room is a part of the code, and what of the module it may import. Do not add to it to mend a build:
// an import that it forbids mostly means that code lies in the wrong room. A path that ends in "/..."
// stands for what is below it too.
type room struct {
	path    string
	why     string   // why it may import these, and nothing else
	imports []string // by its code
	tests   []string // by its tests besides
}

// rooms are listed from the top downwards. A package belongs to the one whose path is the longest.
var rooms = []room{
	{"cmd/aqrun", "the launcher of a job lists conduits, and starts ranks by itself or by one that registers",
		[]string{".", "core", "core/record", "core/settings", "spawner", "spawner/binding", "spawner/hosts", "internal/cli", "internal/cli/known", "internal/plural", "internal/stdfd"}, []string{"conduits/mpi/libmpi/libmpitest", "core/coretest", "core/record/recordtest", "internal/porttest", "internal/programs", "spawner/spawntest", "spawner/spawntest/cluster"}},
	{"cmd/aqbench", "it is the command line of bench",
		[]string{".", "bench/...", "core", "spawner", "extended/coll/...", "internal/cli", "internal/cli/known", "internal/stdfd"}, []string{"spawner/spawntest/cluster"}},
	{"cmd/aqimpair", "it puts links between programs, whatever they are, and streams of its own of udp and TCP",
		[]string{"conduits/udp/...", "internal/cli", "internal/stdfd"}, []string{"internal/programs", "spawner"}},
	{"capi", "it is the library's interface in C, and stands on it as a program does",
		[]string{".", "capi/layout", "core", "extended"}, nil},
	{"capi/gen", "text, for as many arguments as a message has", []string{"capi/layout", "core"}, nil},
	{"capi/layout", "it writes down for C what C shares with core, with a conduit and with barriers", []string{"conduits/sci", "core", "extended/engine"}, nil},
	{"capi/clients", "programs in C, and the commands that build and start them", nil, []string{"core/coretest", "core/record/recordtest", "internal/programs"}},
	{"examples/...", "they use the library as anybody does",
		[]string{".", "core", "extended", "extended/pgas"}, []string{"core/coretest", "internal/programs"}},
	{"examples/mpimix", "it shows a program that calls MPI itself",
		[]string{".", "core", "conduits/mpi/libmpi"}, []string{"internal/programs"}},
	{"scripts/...", "they know the go command only", nil, nil},

	{"bench/...", "it measures through the front door, as programs see the library, and what algorithms cost without one",
		[]string{".", "bench/...", "core", "spawner", "extended", "extended/coll/...", "internal/vtime"},
		[]string{"bench/runner/runnertest", "internal/shm"}},
	{"bench/capi", "it measures programs in C too, and runs them by the launcher",
		[]string{"bench", "bench/floor", "bench/runner", "core", "extended"}, []string{"internal/programs"}},
	{"bench/kernel", "it measures small programs, which are written as programs are",
		[]string{"bench", "bench/coll", "bench/runner", "core", "extended", "extended/pgas"}, []string{"bench/runner/runnertest"}},
	{"bench/paper", "it repeats experiments below the library too: on the adapter alone, and on its hardware",
		[]string{"bench", "bench/plot", "core", "extended", "extended/coll/...", "conduits/sci/sisci", "conduits/sci/hardware", "conduits/myrinet/fabric", "conduits/myrinet/routing", "conduits/myrinet/gm", "conduits/myrinet/grim", "conduits/myrinet/component", "conduits/myrinet/lanai", "conduits/myrinet/transit", "conduits/amfamily/...", "conduits/udp/am2", "internal/machine", "internal/vtime"},
		[]string{".", "core/coretest", "internal/shm"}},
	{"bench/page", "it reads lines that any program may have written, and knows what figures are",
		[]string{"bench", "bench/plot"}, nil},
	{"bench/topology", "it draws networks, and what of them is busy",
		[]string{"conduits/myrinet/fabric", "conduits/myrinet/routing", "internal/plural", "internal/vtime"}, nil},

	{".", "the front door alone wires conduits, bootstrap and core together",
		[]string{"core", "core/record", "core/stepped", "spawner", "conduits/amfamily/conduit", "conduits/loopback", "conduits/mpi/libmpi", "conduits/mpi/scampi", "conduits/myrinet", "conduits/nbrhd", "conduits/sci", "conduits/udp", "internal/stacks", "internal/vtime", "spawner/pmi"}, []string{"core/record/recordtest", "extended", "internal/porttest", "internal/programs"}},

	// Nothing below the front door knows a conduit, and none another, as the conduit is chosen at run
	// time. They carry active messages, whatever these are for, so they do not know extended; and they
	// do not know what started the job. Their tests run real processes.
	{"conduits/loopback", "core, and what several conduits share",
		[]string{"core", "core/settings", "internal/..."}, []string{"core/coretest"}},
	{"conduits/nbrhd", "it stands on any two, by their names, once it has seen that memory can be shared",
		[]string{"core", "core/settings", "internal/cpu", "internal/shm"}, []string{"core/coretest", "spawner/...", "conduits/loopback", "conduits/sci", "conduits/udp"}},
	{"conduits/sci", "it stands on its adapter, places ranks on a modelled machine and charges that machine's software",
		[]string{"core", "core/settings", "conduits/sci/sisci", "conduits/sci/hardware", "internal/..."}, []string{"core/coretest", "spawner/..."}},
	{"conduits/sci/sisci", "the adapter stands on its hardware, which is modelled",
		[]string{"conduits/sci/hardware", "internal/..."}, nil},
	{"conduits/sci/hardware", "hardware knows virtual time and machine files",
		[]string{"internal/..."}, nil},
	{"conduits/myrinet", "it stands on GRIM, and builds the network with its routes",
		[]string{"core", "core/settings", "conduits/myrinet/fabric", "conduits/myrinet/grim", "conduits/myrinet/link", "conduits/myrinet/routing", "internal/..."}, []string{"core/coretest", "spawner/..."}},
	{"conduits/myrinet/fabric", "hardware knows virtual time and machine files",
		[]string{"internal/..."}, nil},
	{"conduits/myrinet/routing", "it finds ways through the fabric, and its mapper is a program of hosts there",
		[]string{"conduits/myrinet/fabric", "internal/fifo", "internal/vtime", "internal/wire"}, []string{"internal/machine"}},
	{"conduits/mpi", "it stands on any library that can match messages",
		[]string{"core", "core/settings", "internal/..."}, []string{"core/coretest", "conduits/mpi/mpitest"}},
	{"conduits/mpi/matching", "a state machine: calls and messages in, messages and completions out", []string{"internal/fifo"}, nil},
	{"conduits/mpi/mpitest", "a network for the conduit's tests",
		[]string{"core", "conduits/mpi", "conduits/mpi/matching", "internal/..."}, nil},
	{"conduits/mpi/libmpi", "its networks are those of real libraries",
		[]string{"core", "core/settings", "conduits/mpi", "internal/drain"}, []string{"core/coretest", "conduits/mpi/libmpi/libmpitest", "spawner/..."}},
	{"conduits/mpi/libmpi/libmpitest", "it finds libraries for tests, and runs jobs over them",
		[]string{"core", "core/coretest", "conduits/mpi/libmpi", "internal/shm", "spawner/..."}, nil},
	{"conduits/mpi/scampi", "a modelled library on SCI's calls, and on the software costs of its machine",
		[]string{"core", "core/settings", "conduits/mpi", "conduits/mpi/matching", "conduits/sci/sisci", "conduits/sci/hardware", "internal/..."},
		[]string{"core/coretest", "conduits/sci"}}, // its rival
	{"conduits/myrinet/gm", "a program on NICs in a fabric, and the library on hosts", []string{"conduits/myrinet/fabric", "conduits/myrinet/lanai", "conduits/myrinet/transit", "internal/..."}, []string{"conduits/myrinet/routing"}},
	{"conduits/myrinet/grim", "a program on NICs in a fabric, and the library on hosts, whose cluster takes its routes from a table", []string{"conduits/myrinet/fabric", "conduits/myrinet/lanai", "conduits/myrinet/routing", "conduits/myrinet/transit", "internal/..."}, []string{"conduits/myrinet/link"}},
	{"conduits/myrinet/component", "a program on NICs in a fabric, and the library on hosts, composed of protocols", []string{"conduits/myrinet/fabric", "conduits/myrinet/lanai", "conduits/myrinet/netdma", "internal/..."}, nil},
	{"conduits/myrinet/transit", "what programs on NICs share of in-transit buffers, on ports of the fabric", []string{"conduits/myrinet/fabric", "internal/fifo"}, nil},
	{"conduits/myrinet/link", "the network of live jobs, with the topologies and packets of the modelled one", []string{"conduits/myrinet/fabric", "conduits/myrinet/transit", "internal/..."}, nil},
	{"conduits/myrinet/lanai", "a NIC knows virtual time and machine files", []string{"internal/..."}, nil},
	{"conduits/amfamily", "what systems of active messages share in virtual time", []string{"internal/vtime"}, nil},
	{"conduits/amfamily/...", "a protocol on the hardware that it was built for, which knows virtual time and machine files",
		[]string{"conduits/amfamily", "internal/..."}, nil},
	{"conduits/amfamily/conduit", "it makes conduits of the family's systems", []string{"core", "core/settings", "conduits/amfamily/...", "internal/shm", "internal/fifo", "internal/vtime"},
		[]string{"core/coretest"}},
	{"conduits/amfamily/amii", "the state machine of am2 as a program on NICs in a fabric, and the library on hosts, whose cluster takes its routes from a table",
		[]string{"conduits/amfamily", "conduits/myrinet/fabric", "conduits/myrinet/lanai", "conduits/myrinet/netdma", "conduits/myrinet/routing", "conduits/udp/am2", "internal/..."}, nil},
	{"conduits/myrinet/netdma", "the NIC's DMA engines at a port of a fabric, for any program", []string{"conduits/myrinet/fabric", "conduits/myrinet/lanai", "internal/fifo"}, []string{"internal/vtime"}},
	{"conduits/udp", "it is the driver of the machine, and has datagrams protected",
		[]string{"core", "core/settings", "conduits/udp/am2", "conduits/udp/netif", "conduits/udp/seal", "conduits/udp/socket", "internal/..."}, []string{"core/coretest", "spawner/..."}},
	{"conduits/udp/bundle", "it is the machine's driver for talk between jobs, without core",
		[]string{"conduits/udp/am2", "conduits/udp/seal", "conduits/udp/socket"}, nil},
	{"conduits/udp/socket", "sockets of both drivers, whose datagrams are am2's and protected",
		[]string{"conduits/udp/am2", "conduits/udp/seal"}, nil},
	{"conduits/udp/am2", "a state machine: time and messages in, messages and timers out", []string{"internal/fifo"}, []string{"internal/vtime"}},
	{"conduits/udp/seal", "keys and tags", []string{"internal/secretfile"}, nil},
	{"conduits/udp/netif", "which addresses ranks use: what hosts tell of their interfaces, and arithmetic", []string{"internal/ifaddr", "internal/namespace", "internal/wire"}, nil},
	{"conduits/udp/impair", "links that lose packets, and a queue of what is under way", []string{"internal/vtime"}, nil},
	{"conduits/udp/impair/tunnel", "it carries real packets over them", []string{"conduits/udp/impair"}, nil},

	{"extended", "the Extended API is network-independent, on the Core API alone, and the façade of the rooms below it",
		[]string{"core", "core/record", "extended/coll", "extended/element", "extended/engine", "extended/group", "extended/vis"}, []string{"conduits/loopback"}}, // of examples
	{"extended/coll/...", "schedules know no network, their price only virtual time",
		[]string{"extended/coll", "internal/vtime"}, []string{"extended/coll/colltest", "internal/shm"}},
	{"extended/engine", "state machines of a team's calls and barriers, on schedules: arrivals in, sends out",
		[]string{"extended/coll", "internal/sparse"}, nil},
	{"extended/element", "what operations make of elements in memory, by core's names for them; in memory that others see it stores as conduits do",
		[]string{"core", "internal/shm"}, nil},
	{"extended/group", "who is in a team, and what a split makes: arithmetic on ranks", []string{"core"}, nil},
	{"extended/vis", "shapes of transfers between two memories, and their pieces in messages: arithmetic", nil, nil},
	{"extended/pgas", "types for the Extended API",
		[]string{"core", "extended"}, []string{"core/coretest", "spawner/...", "conduits/loopback", "conduits/sci"}},
	{"extended/exttest", "the suite of the Extended API",
		[]string{"core", "core/coretest", "extended", "extended/coll", "extended/pgas", "internal/shm"}, []string{"spawner/...", "conduits/loopback", "conduits/sci"}},
	{"extended/exttest/...", "the suite over a network", nil,
		[]string{"core", "core/coretest", "extended/exttest", "spawner/...", "conduits/...", "internal/..."}},

	{"spawner", "it starts jobs and knows no conduit", []string{"core", "internal/...", "spawner/binding"}, []string{"core/coretest"}},
	{"spawner/pmi", "it is a rank's side of launchers that speak PMI or PMIx, and has ranks of a host meet as the spawner does",
		[]string{"core", "spawner", "spawner/pmi/libpmix", "internal/abstract", "internal/drain", "internal/plural", "internal/shm"}, []string{"core/coretest", "conduits/sci", "conduits/udp", "spawner/spawntest/cluster"}},
	{"spawner/pmi/libpmix", "calls of a library, which knows no ranks of ours", nil, nil},
	{"spawner/binding", "CPUs of a host, as the kernel tells of them, and which of them ranks get", nil, nil},
	{"spawner/hosts", "lists of hosts and places of ranks: text and arithmetic", []string{"internal/plural"}, nil},
	{"spawner/spawntest", "it runs the suite's jobs as processes", []string{"core", "core/coretest", "spawner", "internal/mtls", "internal/porttest"}, []string{"conduits/nbrhd", "conduits/sci", "conduits/udp"}},
	{"spawner/spawntest/cluster", "hosts of namespaces, whatever runs on them", nil, nil},

	{"core", "the contract stands on nothing but internals; its examples run over the simplest conduit", []string{"core/record", "core/settings", "internal/..."}, []string{"conduits/loopback"}},
	{"core/record", "what is recorded of jobs, and its forms, below what records", []string{"internal/plural", "internal/vtime"}, []string{"core/record/recordtest"}},
	{"core/record/recordtest", "checks of what is recorded", nil, nil},
	{"core/settings", "tables of settings, below the contract that states them", []string{"internal/size"}, nil},
	{"core/stepped", "ranks of a modelled job in processes of their own: both ends of the contract, whatever carries it out", []string{"core", "internal/shm", "internal/wire"}, []string{"core/coretest", "conduits/loopback"}},
	{"core/coretest", "the conformance suite", []string{"core", "core/settings", "core/stepped", "internal/..."}, nil},
	{"internal/cli/known", "names that a shell completes, for programs that have all conduits", []string{"core", "internal/cli"}, nil},
	{"internal/hw", "hardware knows virtual time and machine files", []string{"internal/machine", "internal/vtime"}, nil},
	{"internal/porttest", "ports for tests", nil, nil},
	{"internal/...", "shared mechanisms know each other at most", []string{"internal/..."}, nil},
}

// suites are for tests, and for each other.
var suites = []string{
	"core/coretest", "core/record/recordtest", "extended/exttest", "extended/coll/colltest", "spawner/spawntest", "spawner/spawntest/cluster",
	"conduits/mpi/mpitest", "conduits/mpi/libmpi/libmpitest", "bench/runner/runnertest", "internal/porttest",
}

// matches reports whether a pattern stands for a path.
func matches(pattern, path string) bool {
	dir, below := strings.CutSuffix(pattern, "/...")
	return path == dir || below && strings.HasPrefix(path, dir+"/")
}

// roomOf returns the room of a package, or nil.
func roomOf(path string) *room {
	var found *room
	for i := range rooms {
		r := &rooms[i]
		if r.path == path {
			return r
		}
		if matches(r.path, path) && (found == nil || len(r.path) > len(found.path)) {
			found = r
		}
	}
	return found
}

// allowed reports whether a package may import another one.
func allowed(from, to string, test bool) bool {
	r := roomOf(from)
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return matches(p, to) })
	}
	switch {
	case r == nil:
		return false
	case from == to:
		return test
	case !test && slices.Contains(suites, to) && !slices.Contains(suites, from):
		return false
	}
	return in(r.imports) || test && in(r.tests)
}

// arrow is an import within the module.
type arrow struct {
	from, to string
	test     bool
}

// arrows returns all of them, and fails on a package that has no room.
func arrows(t *testing.T) (all []arrow) {
	t.Helper()
	packages(t, func(dir string, pkg *build.Package) {
		if roomOf(dir) == nil {
			t.Errorf("%s is in no room; see rooms in this file and docs/design.md", dir)
		}
		add := func(paths []string, test bool) {
			for _, path := range paths {
				if to, ok := strings.CutPrefix(path, module); ok {
					if to = strings.TrimPrefix(to, "/"); to == "" {
						to = "."
					}
					all = append(all, arrow{dir, to, test})
				}
			}
		}
		add(pkg.Imports, false)
		add(slices.Concat(pkg.TestImports, pkg.XTestImports), true)
	})
	return all
}

// packages calls f for every package of the module.
func packages(t *testing.T, f func(dir string, pkg *build.Package)) {
	t.Helper()
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "docs") {
			return filepath.SkipDir
		}
		pkg, err := build.ImportDir(dir, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err == nil {
			f(filepath.ToSlash(dir), pkg)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestArrows(t *testing.T) {
	all := arrows(t)
	if t.Failed() {
		t.FailNow() // a package is in no room
	}
	for _, a := range all {
		if !allowed(a.from, a.to, a.test) {
			r := roomOf(a.from)
			t.Errorf("%s imports %s (in a test: %v): its room is for %s", a.from, a.to, a.test, r.why)
		}
	}
	// What nobody uses need not be allowed.
	for i := range rooms {
		r := &rooms[i]
		for test, list := range map[bool][]string{false: r.imports, true: r.tests} {
			for _, p := range list {
				if !slices.ContainsFunc(all, func(a arrow) bool { return roomOf(a.from) == r && (test || !a.test) && matches(p, a.to) }) {
					t.Errorf("room %s may import %s (in tests: %v), and nothing does", r.path, p, test)
				}
			}
		}
	}
}

// forbidden are imports that the rules forbid: at least one of each room.
var forbidden = []arrow{
	{"conduits/udp", "spawner", false},                // who started the job
	{"conduits/udp", "conduits/sci", false},           // another conduit
	{"conduits/udp", "conduits/sci", true},            //
	{"conduits/sci", "extended", true},                // whatever messages are for
	{"conduits/loopback", "conduits/udp/am2", false},  // the inside of another
	{"conduits/sci/hardware", "core", false},          // hardware knows no messages
	{"conduits/udp/am2", "core", false},               // a state machine is pure
	{"conduits/udp/bundle", "core", false},            // talk between jobs has none
	{"conduits/udp", "conduits/udp/bundle", false},    // two drivers, side by side
	{"extended", "core/coretest", false},              // a suite, outside tests
	{"extended", "conduits/sci", false},               // a network
	{"extended", "internal/vtime", false},             // what is below the Core API
	{"extended/coll", "core", false},                  // schedules know no network
	{"extended/engine", "core", false},                // nor do those who carry them out
	{"extended/engine", "extended", true},             // upwards
	{"extended/element", "extended", true},            // upwards
	{"extended", "internal/shm", false},               // stores of elements lie below
	{"extended/group", "extended/engine", true},       // side by side
	{"extended/vis", "core", true},                    // shapes know no ranks
	{"extended/pgas", "extended/vis", false},          // past the façade
	{"core", "spawner", false},                        // what started the job
	{"core", "conduits/loopback", false},              // upwards
	{"core/settings", "core", false},                  // upwards
	{"core", "core/coretest", false},                  // a suite
	{"core/stepped", "conduits/loopback", false},      // what carries out the contract
	{"spawner", "extended", true},                     // side by side
	{"spawner", "conduits/udp", false},                //
	{"spawner/spawntest/cluster", "spawner", false},   // whatever runs on the hosts
	{"internal/shm", "core", false},                   // upwards
	{"internal/cli/known", "conduits/sci", false},     // a conduit by name
	{"internal/hw", "conduits/sci/hardware", false},   // upwards
	{"internal/hw", "internal/shm", false},            // no memory of the host
	{"capi", "internal/shm", false},                   // past the front door
	{"capi/gen", "extended", false},                   // it knows messages alone
	{"capi/clients", "core", true},                    // programs in C
	{"capi/layout", "extended", false},                // nothing of it is shared
	{"examples/ring", "internal/shm", false},          // what users cannot import
	{"examples/ring", "conduits/sci", false},          // a conduit by name
	{"bench/am", "conduits/sci", false},               // past the front door
	{"bench/rma", "internal/shm", false},              //
	{"bench/capi", "spawner", false},                  // the launcher is a program
	{"bench/kernel", "conduits/sci", false},           // past the front door
	{"cmd/aqrun", "bench", false},                     // another program's
	{"cmd/aqrun", "conduits/mpi/libmpi", false},       // a launcher by name
	{"bench/runner", "conduits/mpi/libmpi", false},    //
	{"cmd/aqbench", "bench/runner/runnertest", false}, // a suite
	{"cmd/aqbench", "conduits/udp", false},            // past the front door
	{"cmd/aqimpair", "core", false},                   // links know no ranks
	{"capi/layout", "extended", false},                // it writes down what messages need
	{"bench/capi", "conduits/sci", false},             // past the front door
	{"examples/mpimix", "conduits/mpi", false},        // the inside of what it shows
	{"scripts/testsum", "core", false},                // the go command only
	{"bench/paper", "conduits/udp", false},            // no hardware of the experiments
	{"bench/topology", "core", false},                 // networks without ranks
	{"bench/page", "bench/paper", false},              // experiments come as lines
	{".", "conduits/sci/sisci", false},                // the inside of a conduit
	{"conduits/nbrhd", "conduits/udp", false},         // its parts by name
	{"conduits/sci", "conduits/mpi", false},           // another conduit
	{"conduits/sci/sisci", "core", false},             // an adapter knows no messages
	{"conduits/mpi", "conduits/mpi/libmpi", false},    // a library, by name
	{"conduits/mpi/matching", "core", false},          // a state machine is pure
	{"conduits/mpi/mpitest", "spawner", false},        // a network in this process
	{"conduits/mpi/libmpi", "conduits/mpi/scampi", true},
	{"conduits/mpi/libmpi/libmpitest", "extended", false},
	{"conduits/mpi/scampi", "conduits/mpi/libmpi", false},
	{"conduits/myrinet/fabric", "conduits/myrinet/routing", true}, // upwards
	{"conduits/myrinet/routing", "conduits/myrinet/lanai", false}, // it maps what any host may stand on
	{"conduits/myrinet/lanai", "conduits/myrinet/fabric", false},  // a NIC's programs know the network
	{"conduits/myrinet/gm", "conduits/myrinet/grim", false},       // side by side
	{"conduits/myrinet/grim", "conduits/myrinet/gm", false},       //
	{"conduits/myrinet/component", "conduits/myrinet/gm", true},   //
	{"conduits/amfamily", "conduits/amfamily/am", false},          // upwards
	{"conduits/amfamily/conduit", "extended", true},               // whatever messages are for
	{"conduits/amfamily/amii", "core", true},                      // a system knows no conduit
	{"conduits/myrinet", "conduits/sci", false},                   // another conduit
	{"conduits/myrinet/transit", "conduits/myrinet/gm", true},     // upwards
	{"conduits/myrinet/netdma", "conduits/myrinet/gm", true},      // upwards
	{"conduits/myrinet/link", "conduits/myrinet/grim", true},      // it carries any program's packets
	{"conduits/amfamily/am", "conduits/amfamily/hpam", false},     // side by side
	{"conduits/udp/socket", "conduits/udp", true},                 // upwards
	{"conduits/udp/seal", "conduits/udp/am2", false},              // keys know no messages
	{"conduits/udp/netif", "conduits/udp/socket", false},          // it sends nothing
	{"conduits/udp/impair", "conduits/udp/am2", false},            // links know no messages
	{"conduits/udp/impair/tunnel", "conduits/udp", true},          // upwards
	{"extended/exttest", "conduits/udp", true},                    // a network of a package below
	{"extended/exttest/udp", "bench", true},                       // upwards
	{"spawner/spawntest", "conduits/sci", false},                  // it knows no conduit
	{"spawner/spawntest", "conduits/loopback", true},              //
	{"spawner/pmi", "conduits/sci", false},                        // what started the job knows no conduit
	{"spawner", "spawner/pmi", false},                             // upwards
	{"spawner/pmi/libpmix", "spawner", false},                     // it calls a library
	{"spawner/hosts", "core", false},                              // lists know no jobs
	{"spawner/binding", "spawner", true},                          // upwards
	{"internal/porttest", "core", false},                          // it knows sockets alone
	{"core/coretest", "spawner", false},                           // nor what starts ranks
	{"core/record", "core", false},                                // upwards
	{"core/record/recordtest", "core", false},                     //
}

// TestArrowsBite wants the forbidden imports refused, and every room to refuse one.
func TestArrowsBite(t *testing.T) {
	there := make(map[string]bool)
	packages(t, func(dir string, _ *build.Package) { there[dir] = true })
	biting := make(map[*room]bool)
	for _, a := range forbidden {
		switch {
		case !there[a.from] || !there[a.to]:
			t.Errorf("%s imports %s: one of them is no package", a.from, a.to)
		case allowed(a.from, a.to, a.test):
			t.Errorf("%s may import %s (in a test: %v)", a.from, a.to, a.test)
		}
		biting[roomOf(a.from)] = true
	}
	for i := range rooms {
		if r := &rooms[i]; !biting[r] {
			t.Errorf("forbidden has no import that room %s refuses", r.path)
		}
	}
	if allowed("somewhere/else", "core", false) {
		t.Error("a package without a room may import")
	}
}

// TestPackageComments demands a package comment of every package.
func TestPackageComments(t *testing.T) {
	packages(t, func(dir string, pkg *build.Package) {
		if len(pkg.GoFiles) > 0 && strings.TrimSpace(pkg.Doc) == "" {
			t.Errorf("package %s has no package comment", dir)
		}
	})
	if _, err := os.Stat("docs/design.md"); err != nil {
		t.Error(err)
	}
}
