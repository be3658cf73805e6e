package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/pflag"
)

// colon stands between the programs of a job that has several (MPMD).
const colon = ":"

// perProgram are the options that belong to one program and its ranks. The others belong to the job and are given before its
// first program.
var perProgram = []string{"np", "x", "wdir"}

// cutProgram returns the program and arguments that follow the options of fs, and what follows the colon; nil: there is none.
// Behind -- a colon is an argument.
func cutProgram(fs *pflag.FlagSet) (command, rest []string) {
	command = fs.Args()
	i := slices.Index(command, colon)
	if i < 0 || fs.ArgsLenAtDash() >= 0 {
		return command, nil
	}
	return command[:i:i], command[i+1:]
}

// parseMore reads the programs after the first, which are separated by colons in args.
func (o *options) parseMore(args []string) error {
	all := []*options{o}
	for args != nil {
		p := new(options)
		fs := pflag.NewFlagSet("aqrun", pflag.ContinueOnError)
		fs.SetInterspersed(false)
		fs.Usage = func() {}
		p.flags(fs)
		if err := cli.Parse(fs, args); err != nil {
			return err
		}
		var err error
		fs.Visit(func(f *pflag.Flag) {
			if !slices.Contains(perProgram, f.Name) {
				err = fmt.Errorf("--%s is for the whole job; give it before the first program, not behind a colon", f.Name)
			}
		})
		if err == nil {
			err = checkEmpty(fs)
		}
		if err != nil {
			return err
		}
		p.command, args = cutProgram(fs)
		all = append(all, p)
	}
	o.n = 0
	for i, p := range all {
		if len(p.command) == 0 || p.command[0] == "" {
			return fmt.Errorf("program %d of the job is missing; a colon stands between two programs", i+1)
		}
		name := strings.Join(p.command, " ")
		if p.ranks == 0 {
			return fmt.Errorf("the number of ranks of %s is missing; give each program of the job its own with -n", name)
		}
		if err := resolveEnv(p.env); err != nil {
			return err
		}
		if o.n += p.ranks; o.n > spawner.MaxRanks {
			return fmt.Errorf("%d ranks with those of %s; a job has at most %d", o.n, name, spawner.MaxRanks)
		}
		o.programs = append(o.programs, spawner.Program{N: p.ranks, Prog: p.command[0], Args: p.command[1:], Env: p.env, Dir: p.wdir})
	}
	return nil
}

// moves reports whether a program has a directory of its own.
func (o *options) moves() bool {
	return o.wdir != "" || slices.ContainsFunc(o.programs, func(p spawner.Program) bool { return p.Dir != "" })
}
