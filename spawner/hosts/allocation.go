package hosts

import (
	"errors"
	"fmt"
	"strings"
)

// Environment is where hosts are looked for.
type Environment struct {
	Getenv   func(name string) string          // os.Getenv, or a test's
	ReadFile func(name string) ([]byte, error) // os.ReadFile, or a test's
}

// Find returns the hosts of a job, and who names them: --host, whose value is list; or the file of --hostfile; or else the
// batch system. What users say is not held against the allocation. Of the two options one may be given; "" is none. It
// returns nil if nobody names any.
func (e *Environment) Find(list, file string) (hosts []Host, who string, err error) {
	switch {
	case list != "" && file != "":
		return nil, "", errors.New("--host and --hostfile both name the hosts; give one of them")
	case list != "":
		hosts, err = ParseList(list)
		return hosts, "--host", err
	case file != "":
		text, err := e.ReadFile(file)
		if err != nil {
			return nil, "", fmt.Errorf("--hostfile: %w", err)
		}
		hosts, err = ParseFile(file, string(text))
		return hosts, "--hostfile " + file, err
	}
	a, err := e.Allocation()
	if a == nil {
		return nil, "", err
	}
	return a.Hosts, a.System, nil
}

// Allocation is what a batch system has given to the job that this process is in.
type Allocation struct {
	System string // such as "Slurm"
	Hosts  []Host
}

// batchSystems are asked in this order. Of the variables of one, the first that is set counts.
var batchSystems = []struct {
	name string
	vars []string
	read func(e *Environment, name, value string) ([]Host, error)
}{
	{"Slurm", []string{"SLURM_JOB_NODELIST", "SLURM_NODELIST"}, (*Environment).readSlurm},
	{"PBS", []string{"PBS_NODEFILE"}, (*Environment).readNodeFile},
	{"LSF", []string{"LSB_DJOB_HOSTFILE"}, (*Environment).readNodeFile},
	{"LSF", []string{"LSB_MCPU_HOSTS"}, (*Environment).readPairs},
	{"LSF", []string{"LSB_HOSTS"}, (*Environment).readWords},
	{"Grid Engine", []string{"PE_HOSTFILE"}, (*Environment).readPEFile},
}

// Allocation returns the allocation that the environment tells of, nil if it tells of none. What it reads, by what is
// set first:
//
//   - Slurm: SLURM_JOB_NODELIST, or SLURM_NODELIST of old versions, with the slots in SLURM_TASKS_PER_NODE, such as
//     4(x2),3, or else in SLURM_JOB_CPUS_PER_NODE (srun(1), sbatch(1)). That is the allocation, not a step of it.
//   - PBS: the file PBS_NODEFILE, in which a line is a slot.
//   - LSF: the file LSB_DJOB_HOSTFILE, of the same form, which is whole also where variables would be too long; else
//     LSB_MCPU_HOSTS, which has pairs of host and slots; else LSB_HOSTS, in which a word is a slot.
//   - Grid Engine: the file PE_HOSTFILE, in which a line is a host, its slots, a queue and a range of processors
//     (sge_pe(5)).
//
// The slots of a host that is named several times add up. An empty variable counts as none. What is set and cannot be
// read is an error.
func (e *Environment) Allocation() (*Allocation, error) {
	for _, s := range batchSystems {
		for _, name := range s.vars {
			value := e.Getenv(name)
			if value == "" {
				continue
			}
			all, err := s.read(e, name, value)
			if err == nil && len(all) == 0 {
				err = errors.New("it names no host")
			}
			if err != nil {
				return nil, fmt.Errorf("the hosts of the allocation by %s (%s): %w; say which to use by --host or --hostfile", s.name, name, err)
			}
			return &Allocation{System: s.name, Hosts: all}, nil
		}
	}
	return nil, nil
}

// readSlurm reads a list of nodes.
func (e *Environment) readSlurm(name, value string) ([]Host, error) {
	var names []string
	for _, part := range splitList(value) {
		some, err := Expand(part)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", shorten(part), err)
		}
		if names = append(names, some...); len(names) > MaxRanks {
			return nil, fmt.Errorf("it names more than %d hosts", MaxRanks)
		}
	}
	counts := "SLURM_TASKS_PER_NODE"
	text := e.Getenv(counts)
	if text == "" {
		counts = "SLURM_JOB_CPUS_PER_NODE"
		text = e.Getenv(counts)
	}
	if text == "" {
		return nil, errors.New("neither SLURM_TASKS_PER_NODE nor SLURM_JOB_CPUS_PER_NODE says how many slots they have")
	}
	slots, err := parseRepeated(text, len(names))
	if err != nil {
		return nil, fmt.Errorf("%s=%q: %w", counts, shorten(text), err)
	}
	var l list
	for i, n := range names {
		if err := l.add(entry{name: n, slots: slots[i], from: name}); err != nil {
			return nil, err
		}
	}
	return l.hosts, nil
}

// parseRepeated reads n numbers, of which 4(x2) stands for 4,4.
func parseRepeated(text string, n int) (all []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		number, times := part, 1
		if before, after, ok := strings.Cut(part, "(x"); ok {
			inside, closed := strings.CutSuffix(after, ")")
			if times, err = parseCount(inside); err != nil || !closed {
				return nil, fmt.Errorf("%q is no number with repetitions; want one such as 4(x2)", part)
			}
			number = before
		}
		v, err := parseCount(number)
		if err != nil {
			return nil, err
		}
		if len(all)+times > n {
			return nil, fmt.Errorf("it has numbers for more than the %d nodes", n)
		}
		for range times {
			all = append(all, v)
		}
	}
	if len(all) < n {
		return nil, fmt.Errorf("it has numbers for %d of the %d nodes", len(all), n)
	}
	return all, nil
}

// readNodeFile reads a file in which a line is a slot.
func (e *Environment) readNodeFile(_, path string) ([]Host, error) {
	return e.readLines(path, func(words []string) (int, error) {
		if len(words) > 1 {
			return 0, fmt.Errorf("%q follows; want one name in a line", shorten(words[1]))
		}
		return 1, nil
	})
}

// readPEFile reads a file in which a line is a host and its slots.
func (e *Environment) readPEFile(_, path string) ([]Host, error) {
	return e.readLines(path, func(words []string) (int, error) {
		if len(words) < 2 {
			return 0, errors.New("the number of slots is missing")
		}
		return parseCount(words[1])
	})
}

// readLines reads a file with a host at the beginning of each line, which has as many slots as f says.
func (e *Environment) readLines(path string, f func(words []string) (slots int, err error)) ([]Host, error) {
	text, err := e.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var l list
	err = eachLine(path, string(text), func(from string, words []string) error {
		slots, err := f(words)
		if err == nil {
			err = checkName(words[0])
		}
		if err != nil {
			return fmt.Errorf("%s: host %s: %w", from, shorten(words[0]), err)
		}
		return l.add(entry{name: words[0], slots: slots, from: from})
	})
	return l.hosts, err
}

// readPairs reads hosts, each with its number of slots behind it.
func (e *Environment) readPairs(name, value string) ([]Host, error) {
	var l list
	words := strings.Fields(value)
	for ; len(words) > 1; words = words[2:] {
		slots, err := parseCount(words[1])
		if err == nil {
			err = checkName(words[0])
		}
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", shorten(words[0]), err)
		}
		if err := l.add(entry{name: words[0], slots: slots, from: name}); err != nil {
			return nil, err
		}
	}
	if len(words) == 1 {
		return nil, fmt.Errorf("host %s has no number of slots behind it", shorten(words[0]))
	}
	return l.hosts, nil
}

// readWords reads hosts, named once for each slot.
func (e *Environment) readWords(name, value string) ([]Host, error) {
	var l list
	for _, w := range strings.Fields(value) {
		if err := checkName(w); err != nil {
			return nil, err
		}
		if err := l.add(entry{name: w, slots: 1, from: name}); err != nil {
			return nil, err
		}
	}
	return l.hosts, nil
}
