package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxCPUs is what unix.CPUSet can name.
const maxCPUs = 1024

// CPUs returns the CPUs that this thread, and so by default what it starts, may run on,
// in ascending order.
func CPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("bench: reading the CPU affinity: %w", err)
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Pairs returns all pairs of the given CPUs, those on different cores before the
// hyperthreads of one core, otherwise in the order given.
func Pairs(cpus []int) [][2]int {
	return pairs(os.DirFS("/sys/devices/system/cpu"), cpus)
}

func pairs(sysCPU fs.FS, cpus []int) [][2]int {
	core := make(map[int]string, len(cpus))
	for _, cpu := range cpus {
		siblings, err := fs.ReadFile(sysCPU, fmt.Sprintf("cpu%d/topology/thread_siblings_list", cpu))
		if core[cpu] = string(siblings); err != nil {
			core[cpu] = strconv.Itoa(cpu) // not known: count as a core of its own
		}
	}
	var apart, together [][2]int
	for i, a := range cpus {
		for _, b := range cpus[i+1:] {
			if core[a] == core[b] {
				together = append(together, [2]int{a, b})
			} else {
				apart = append(apart, [2]int{a, b})
			}
		}
	}
	return append(apart, together...)
}

// Spread deals n ranks out to the CPUs in turn.
func Spread(cpus []int, n int) []int {
	if len(cpus) == 0 {
		return nil
	}
	return slices.Repeat(cpus, (n+len(cpus)-1)/len(cpus))[:n]
}

// atFirst are the CPUs that the process may run on before Pin.
var atFirst, errAtFirst = CPUs()

// Start starts a command that may run wherever this process might when it began, although this
// process has been pinned since. A launcher that spins until its children have ended, as MPICH's
// does, may otherwise keep these from the only CPU for good.
func Start(cmd *exec.Cmd) error {
	if errAtFirst != nil {
		return errAtFirst
	}
	var before, all unix.CPUSet
	for _, cpu := range atFirst {
		all.Set(cpu)
	}
	runtime.LockOSThread() // whose CPUs the command inherits
	defer runtime.UnlockOSThread()
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("bench: reading the CPU affinity: %w", err)
	}
	if err := unix.SchedSetaffinity(0, &all); err != nil {
		return fmt.Errorf("bench: for %s, all CPUs: %w", cmd.Path, err)
	}
	err := cmd.Start()
	return errors.Join(err, unix.SchedSetaffinity(0, &before))
}

// Pin restricts every thread of a process to the given CPUs; threads it starts later
// inherit that. pid 0 is the caller's process.
func Pin(pid int, cpus ...int) error {
	if pid == 0 {
		pid = os.Getpid()
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		if cpu < 0 || cpu >= maxCPUs {
			return fmt.Errorf("bench: no CPU %d; want 0 to %d", cpu, maxCPUs-1)
		}
		set.Set(cpu)
	}
	// A thread not seen yet may start another before it is pinned: look until no new
	// one appears.
	pinned := map[string]bool{}
	for before := -1; before < len(pinned); {
		before = len(pinned)
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return fmt.Errorf("bench: pinning process %d: %w", pid, err)
		}
		for _, thread := range threads {
			if pinned[thread.Name()] {
				continue
			}
			if err := pinThread(thread.Name(), &set); err != nil {
				return fmt.Errorf("bench: pinning process %d to CPUs %v: %w", pid, cpus, err)
			}
			pinned[thread.Name()] = true
		}
	}
	return nil
}

// pinThread pins the thread with this number, which may have ended meanwhile.
func pinThread(tid string, set *unix.CPUSet) error {
	n, err := strconv.Atoi(tid)
	if err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(n, set); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}
