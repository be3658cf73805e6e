package spawner

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
)

// Program is one of the programs of a job that has several (MPMD).
type Program struct {
	N    int      // ranks that execute it, at least 1
	Prog string   // as Spec.Prog
	Args []string // as Spec.Args
	Env  []string // on top of Spec.Env
	Dir  string   // as Spec.Dir; "" is that
}

// programs returns what the ranks execute, in the order of the ranks: one program, unless the Spec names several. On named
// hosts, where nothing is relative to this process, directories are absolute.
func (s *Spec) programs() ([]Program, error) {
	all := slices.Clone(s.Programs)
	if all == nil {
		all = []Program{{N: s.N, Prog: s.Prog, Args: s.Args}}
	}
	for i := range all {
		p := &all[i]
		p.Dir = cmp.Or(p.Dir, s.Dir)
		if s.Hosts == nil {
			continue
		}
		var err error
		if p.Dir, err = filepath.Abs(p.Dir); err != nil {
			return nil, failure(statusSelf, "the working directory of the ranks: %v", err)
		}
	}
	return all, nil
}

// checkPrograms refuses programs that cannot be those of the job.
func (s *Spec) checkPrograms() error {
	if s.Programs == nil {
		return nil
	}
	n := 0
	for i, p := range s.Programs {
		if p.N < 1 || p.N > MaxRanks {
			return failure(statusUsage, "program %d of the job, %s, has %d ranks; want 1 to %d", i, p.Prog, p.N, MaxRanks)
		}
		if err := checkEnv(p.Env); err != nil {
			return failure(statusUsage, "%v", err)
		}
		n += p.N
	}
	switch {
	case n != s.N:
		return failure(statusUsage, "the job has %d ranks, but its programs have %d together", s.N, n)
	case s.Prog != "" || s.Args != nil:
		return failure(statusUsage, "the job has a program, %s, and a list of programs; give one of them", s.Prog)
	case s.Mode != Processes:
		return failure(statusUsage, "ranks that share a process execute one program; this job has %d", len(s.Programs))
	case s.started():
		return failure(statusUsage, "the ranks are started by %s, which is to be told of several programs by its own options", s.starterName())
	}
	return nil
}

// execution is what the ranks of a program execute.
type execution struct {
	Program
	number int      // of the program in Spec.programs
	file   string   // the program's, once it is resolved
	path   string   // of the file to execute: the program's, or that of the first word before it; once it is resolved
	argv   []string // "{rank}" still in the prefix
}

// executions returns by rank what it executes, not resolved.
func (s *Spec) executions() ([]*execution, error) {
	programs, err := s.programs()
	if err != nil {
		return nil, err
	}
	all := make([]*execution, 0, s.N)
	for i, p := range programs {
		x := &execution{Program: p, number: i, argv: slices.Concat(s.Prefix, []string{p.Prog}, p.Args)}
		all = append(all, slices.Repeat([]*execution{x}, p.N)...)
	}
	return all, nil
}

// resolve finds the files of what the ranks given execute.
func (s *Spec) resolve(all []*execution, ranks []int) error {
	for _, rank := range ranks {
		x := all[rank]
		if x.path != "" {
			continue
		}
		if err := x.checkDir(); err != nil {
			return err
		}
		if err := x.resolve(s); err != nil {
			return err
		}
	}
	return nil
}

// checkDir refuses a working directory that is none.
func (x *execution) checkDir() error {
	if x.Dir == "" {
		return nil
	}
	fi, err := os.Stat(x.Dir)
	switch {
	case err != nil:
		return failure(statusSelf, "working directory: %v", err)
	case !fi.IsDir():
		return failure(statusSelf, "working directory %s is not a directory", x.Dir)
	}
	return nil
}

// resolve finds the files.
func (x *execution) resolve(s *Spec) (err error) {
	if x.Prog == "" {
		return failure(statusMissing, "no program given")
	}
	if x.file, err = find(x.Prog, x.Dir); err != nil {
		return err
	}
	before := s.Prefix
	if s.started() { // and there is no prefix
		self, err := os.Executable()
		if err != nil {
			return failure(statusSelf, "%v", err)
		}
		before = append(slices.Clip(s.Starter.Command), self, entryName)
	}
	if len(before) == 0 {
		x.path = x.file
		return nil
	}
	x.argv = slices.Concat(before, []string{x.file}, x.Args)
	x.path, err = find(before[0], x.Dir)
	return err
}

// build returns which build of the program it is.
func (x *execution) build() (string, error) {
	path := x.file
	if !filepath.IsAbs(path) {
		path = filepath.Join(x.Dir, path)
	}
	return buildID(path)
}
