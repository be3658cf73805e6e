package compare

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// noisy is the share of the CPUs' time from which what others took is said.
const noisy = 0.1

// tick is the unit of /proc/stat, USER_HZ of Linux on all machines that Go runs on.
const tick = 10 * time.Millisecond

// noise finds out how much of the CPUs' time others took: other processes, and other virtual machines of the host.
type noise struct {
	last reading
	said bool
}

// reading is what the clocks say at a time.
type reading struct {
	cpus usage
	own  time.Duration // of this process and its children
	at   time.Time
}

// usage is time that CPUs spent, all of them together.
type usage struct{ busy, stolen time.Duration }

// read reads the clocks.
func read() reading { return reading{cpuUsage(), ownTime(), time.Now()} }

// begin marks the beginning of a time.
func (n *noise) begin() { n.last = read() }

// end marks the end of it, and the beginning of the next. It returns what is to be said, the first time that there is something.
func (n *noise) end(t *Task) string { return n.judge(t.Name(), read(), runtime.NumCPU()) }

// judge is end, when the clocks of so many CPUs say what is given.
func (n *noise) judge(task string, now reading, cpus int) string {
	was := n.last
	n.last = now
	whole := now.at.Sub(was.at) * time.Duration(cpus)
	others := share(now.cpus.busy-was.cpus.busy-(now.own-was.own), whole)
	stolen := share(now.cpus.stolen-was.cpus.stolen, whole)
	if n.said || whole < 20*tick || others+stolen < noisy {
		return ""
	}
	n.said = true
	return fmt.Sprintf("the machine is noisy: during %q other processes took %.0f %% of its CPUs, and other machines on its host %.0f %%; "+
		"figures say less, and their intervals are wider", task, 100*others, 100*stolen)
}

func share(part, whole time.Duration) float64 { return min(1, max(0, float64(part)/float64(whole))) }

// cpuUsage reads /proc/stat; nothing where there is none.
func cpuUsage() usage {
	text, _ := os.ReadFile("/proc/stat")
	return parseUsage(string(text))
}

// parseUsage reads the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal …, see proc_stat(5).
func parseUsage(text string) (u usage) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return u
	}
	for i, word := range f[1:9] {
		ticks, err := strconv.ParseInt(word, 10, 64)
		switch {
		case err != nil:
			return usage{}
		case i == 7:
			u.stolen = time.Duration(ticks) * tick
		case i != 3 && i != 4: // idle, and waiting for a disk
			u.busy += time.Duration(ticks) * tick
		}
	}
	return u
}

// ownTime is what this process and its children that have ended have taken.
func ownTime() (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if unix.Getrusage(who, &r) == nil {
			sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return sum
}
