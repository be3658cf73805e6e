package spawner

import (
	"fmt"
	"io"
	"path/filepath"
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
	argv := slices.Concat(spec.Prefix, []string{spec.Prog}, spec.Args)
	var err error
	if spec.Hosts != nil {
		err = spec.describeAgents(w)
	} else {
		_, argv, err = spec.resolve()
	}
	if err != nil {
		return err
	}
	if spec.scratches() {
		argv = spec.withScratch(argv, "DIR")
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
		if spec.Dir, err = filepath.Abs(spec.Dir); err != nil {
			return failure(statusSelf, "%v", err)
		}
	}
	for rank := range processes {
		line := ""
		if spec.Hosts != nil {
			line = fmt.Sprintf("# on %s: ", spec.Hosts[spec.HostOf[rank]])
		}
		if spec.Dir != "" {
			line += "cd " + quote([]string{spec.Dir}) + " && "
		}
		line += "env "
		for _, name := range spec.hidden() {
			line += "-u " + quote([]string{name}) + " "
		}
		for _, s := range mergeEnv(nil, spec.settings(), spec.env(), spec.identityOf(rank, "JOB", "SOCKET", "********")) {
			line += quote([]string{s}) + " "
		}
		if cpus := bindings.of(rank); cpus != nil {
			line += fmt.Sprintf("taskset -c %s ", binding.FormatList(cpus))
		}
		if _, err := fmt.Fprintln(w, line+quote(spec.forRank(argv, rank))); err != nil {
			return failure(statusSelf, "%v", err)
		}
	}
	return nil
}

// describeAgents writes what would start the agents, a line for each host.
func (s *Spec) describeAgents(w io.Writer) error {
	all, err := s.starts()
	if err != nil {
		return err
	}
	for _, a := range all {
		if _, err := fmt.Fprintln(w, quote(a.argv)); err != nil {
			return failure(statusSelf, "%v", err)
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
