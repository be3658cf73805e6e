package spawner

import (
	"fmt"
	"io"
	"strings"
)

// Describe writes what Start would execute: per process one line that a shell would take,
// with the settings on top of the launcher's own environment. What only a running launcher
// has is shown as a placeholder; the secret is masked. It fails where Start would refuse
// the Spec, with the same error.
func Describe(w io.Writer, spec Spec) error {
	if err := spec.check(); err != nil {
		return err
	}
	_, argv, err := spec.resolve()
	if err != nil {
		return err
	}
	if spec.scratches() {
		argv = spec.withScratch(argv, "DIR")
	}
	var cpus []int
	if spec.Bind == BindCore {
		if cpus, err = allowedCPUs(); err != nil {
			return failure(statusSelf, "%v", err)
		}
	}
	for rank := range spec.processes() {
		line := ""
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
		if len(cpus) > 0 {
			line += fmt.Sprintf("taskset -c %d ", cpus[rank%len(cpus)])
		}
		if _, err := fmt.Fprintln(w, line+quote(spec.forRank(argv, rank))); err != nil {
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
