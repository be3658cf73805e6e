package spawner

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/spawner/binding"
)

// Describe writes what Start would execute: with hosts what starts the agent of each, and per process one line that a shell would take,
// with the settings on top of the launcher's own environment. What only a running launcher
// has is shown as a placeholder; the secret is masked. It fails where Start would refuse
// the Spec, with the same error.
func Describe(w io.Writer, spec Spec) error {
	if err := spec.check(); err != nil {
		return err
	}
	execs, err := spec.executions()
	if err != nil {
		return err
	}
	if spec.Hosts != nil {
		err = spec.describeAgents(w)
	} else {
		err = spec.resolve(execs, upTo(spec.ranks()))
	}
	if err != nil {
		return err
	}
	if spec.scratches() {
		execs[0].argv = spec.withScratch(execs[0].argv, "DIR")
	}
	var bindings *bindings // of this host
	if spec.Hosts == nil {
		if bindings, err = spec.bindings(spec.processes()); err != nil {
			return failure(statusSelf, "%v", err)
		}
	}
	processes := spec.processes()
	if spec.Hosts != nil {
		processes = spec.N
	}
	for rank := range processes {
		line, x := "", execs[rank]
		if spec.Hosts != nil {
			line = fmt.Sprintf("# on %s: ", spec.Hosts[spec.HostOf[rank]])
		}
		if x.Dir != "" {
			line += "cd " + quote([]string{x.Dir}) + " && "
		}
		line += "env "
		for _, name := range spec.hidden() {
			line += "-u " + quote([]string{name}) + " "
		}
		for _, s := range mergeEnv(nil, spec.settings(), spec.env(), x.Env, spec.identityOf(rank, "JOB", "SOCKET", "********")) {
			line += quote([]string{s}) + " "
		}
		if cpus := bindings.of(rank); cpus != nil {
			line += fmt.Sprintf("taskset -c %s ", binding.FormatList(cpus))
		}
		if _, err := fmt.Fprintln(w, line+quote(spec.forRank(x.argv, rank))); err != nil {
			return failure(statusSelf, "%v", err)
		}
	}
	return nil
}

// describeAgents writes what would start the agents, a line for each host. Those that another agent starts say so.
func (s *Spec) describeAgents(w io.Writer) error {
	root, err := s.tree()
	if err != nil {
		return err
	}
	l, err := s.Launch.launcher(s.Hosts)
	if err != nil || l.Together == nil {
		return root.describe(w, "")
	}
	agent, err := s.Launch.agent()
	if err != nil {
		return err
	}
	told, env := summon{job: "JOB", at: []string{"ADDRESS:PORT"}}, []string{"env", envAgentKey + "=********"}
	if s.Launch.KeyFile != "" {
		env = nil
	}
	command := l.Together(s.Hosts, slices.Concat(agent, told.arguments(s.Launch.KeyFile)))
	if command[0], err = root.find(command[0]); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, quote(slices.Concat(env, command))); err != nil {
		return failure(statusSelf, "%v", err)
	}
	return nil
}

// describe writes what would start the agents below b, on the host that by says; "": this one.
func (b *branch) describe(w io.Writer, by string) (err error) {
	for _, one := range b.split() {
		if by == "" {
			if one.Argv[0], err = b.find(one.Argv[0]); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(w, by+quote(one.Argv)); err != nil {
			return failure(statusSelf, "%v", err)
		}
		if err := one.describe(w, fmt.Sprintf("# on %s: ", one.Name)); err != nil {
			return err
		}
	}
	return nil
}

// quote makes a command line that a shell would read as argv.
func quote(argv []string) string {
	var b strings.Builder
	for i, a := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if a != "" && !strings.ContainsFunc(a, special) {
			b.WriteString(a)
			continue
		}
		b.WriteString("'" + strings.ReplaceAll(a, "'", `'\''`) + "'")
	}
	return b.String()
}

// special reports whether a shell might not take the character as it is.
func special(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_", r)
}
