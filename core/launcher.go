package core

import (
	"cmp"
	"slices"
)

// Launcher is a launcher of processes that comes with the network of a conduit, as mpiexec does with
// an MPI library. It is made known as a Driver is. There are two ways to use it. Users call it by itself: the
// processes that it has started then find each other through it (Rank, Connect). Or aqrun has it start
// the ranks of a job (Starter).
type Launcher struct {
	Conduit   string   // of the ranks it starts, unless they say otherwise; aqrun has an option of that name
	Name      string   // what people call it, e.g. "mpiexec"
	Variables []string // that it reads, of those whose names begin with AQUEDUCT_
	Output    string   // which of its own options tell the output of ranks apart, for messages

	// Rank reports whether it has started this process as one of several, and as which.
	Rank func() (rank string, launched bool)
	// Own reports whether a process of which Rank does was started by this launcher itself, and not by another that tells
	// its processes the same, as srun does what MPICH's mpiexec does. Nil: it was.
	Own func() bool
	// Wanted reports whether the program uses the library of this launcher itself, whatever the conduit, and so wants it to be joined by
	// that. Nil: it does not.
	Wanted func() bool
	// Connect joins the job of the launcher that has started this process. It may be called once.
	Connect func() (Bootstrap, error)
	// Starter returns how it starts n ranks on this host for a profile of the conduit, where "" is the
	// default; or why it cannot. With bind, each rank has a CPU of its own as long as there are enough.
	Starter func(profile string, n int, bind bool) (*Starter, error)
}

// Starter is a command that starts the processes of all ranks of a job.
type Starter struct {
	// Command is the command and its options; the program is put behind it. "{dir}" in it becomes
	// the path of a directory for files of this job, in memory where possible. The directory is removed
	// with all it holds when the job has ended, in whatever way.
	Command []string
	// RankVar is the variable in which each process finds its rank.
	RankVar string
	// Room is how many bytes the files in "{dir}" take, at most. The directory is where there is so much
	// room: in memory, else under TMPDIR, which a message says.
	Room int64
	// Env is what the ranks need besides, as NAME=value.
	Env []string
	// Hides tells of a variable's name that the command does not inherit it: as what another
	// of its kind, should that have started this process, has told it. Nil hides none; nor is any
	// hidden that is set for the job.
	Hides func(name string) bool
}

// RegisterLauncher makes a launcher known. It is meant for init functions and panics if its conduit has
// one already, or the conduit's name or a function is missing. The conduit's name becomes an option of aqrun and
// aqbench, so it must be none that they have.
func RegisterLauncher(l Launcher) {
	known.Lock()
	defer known.Unlock()
	if l.Conduit == "" || l.Rank == nil || l.Connect == nil || l.Starter == nil {
		panic("core: RegisterLauncher needs a conduit's name, Rank, Connect and Starter")
	}
	if slices.ContainsFunc(known.launchers, func(other *Launcher) bool { return other.Conduit == l.Conduit }) {
		panic("core: launcher of conduit " + l.Conduit + " registered twice")
	}
	known.launchers = append(slices.Clone(known.launchers), &l)
	slices.SortFunc(known.launchers, func(a, b *Launcher) int { return cmp.Compare(a.Conduit, b.Conduit) })
}

// Launchers returns the registered launchers in order of their conduits' names. They are not to be changed.
func Launchers() []*Launcher {
	known.Lock()
	defer known.Unlock()
	return known.launchers
}

// LauncherOf returns the launcher of a conduit's ranks, nil if it has none of its own.
func LauncherOf(conduit string) *Launcher {
	for _, l := range Launchers() {
		if l.Conduit == conduit {
			return l
		}
	}
	return nil
}
