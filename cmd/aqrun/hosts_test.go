package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Jobs on pretended hosts, as options say where ranks are.
func TestHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte("alpha slots=2 # the first\nbeta:3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string // hosts of ranks
	}{
		{[]string{"--host", "alpha:2,beta"}, "0 0 1"},
		{[]string{"--hostfile", file}, "0 0 1 1 1"},
		{[]string{"--hostfile", file, "-n", "4", "--map-by", "node"}, "0 1 0 1"},
		{[]string{"--hostfile", file, "-n", "4", "--map-by", "node", "--rank-by", "slot"}, "0 0 1 1"},
		{[]string{"--hostfile", file, "--ppn", "1"}, "0 1"},
		{[]string{"--host", "alpha,beta", "-n", "4", "--oversubscribe"}, "0 0 1 1"},
		{[]string{"--host", "alpha:2,beta:2", "-N", "1"}, "0 0"},
	} {
		status, out, errs := output(t, "where", append(append([]string{"--launcher", "local"}, c.args...), self(t))...)
		if status != 0 || out != c.says+"\n" {
			t.Errorf("%q: status %d, hosts %q, want %q\n%s", c.args, status, out, c.says, errs)
		}
	}
}

// In an allocation of a batch system its hosts are used, but by jobs that share a process, or that the user gives others.
func TestAllocation(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		nodes, tasks string
		args         []string
		says, notes  string // hosts of ranks; what aqrun says
	}{
		{"node[1-2]", "2,1", nil, "0 0 1", "the hosts that Slurm has allocated"},
		{"node[1-2]", "2(x2)", []string{"-n", "3", "--map-by", "node"}, "0 1 0", "the hosts that Slurm has allocated"},
		{"node[1-2]", "1(x2)", []string{"-n", "3", "--oversubscribe"}, "0 0 1", "host node1 has 2 ranks on 1 slot"},
		{"node[1-2]", "2(x2)", []string{"--host", "alpha,beta"}, "0 1", ""},
		{own, "2", []string{"-n", "3"}, "0 0 0", ""}, // as without Slurm
	} {
		t.Setenv("SLURM_JOB_NODELIST", c.nodes)
		t.Setenv("SLURM_TASKS_PER_NODE", c.tasks)
		args := c.args
		if c.nodes != own {
			args = append([]string{"--launcher", "local"}, args...)
		}
		status, out, errs := output(t, "where", append(args, self(t))...)
		if status != 0 || out != c.says+"\n" || !strings.Contains(errs, c.notes) || c.notes == "" && errs != "" {
			t.Errorf("%q of %s: status %d, hosts %q, want %q\n%s", c.args, c.nodes, status, out, c.says, errs)
		}
	}
	t.Setenv("SLURM_TASKS_PER_NODE", "two")
	t.Setenv("SLURM_JOB_NODELIST", "node[1-2]")
	if status, _, errs := output(t, "", "-n", "2", "true"); status != statusUsage || !strings.Contains(errs, "allocation by Slurm") {
		t.Errorf("status %d\n%s", status, errs)
	}
	if status, _, errs := output(t, "", "-n", "2", "--goroutines", "true"); status != 0 {
		t.Errorf("status %d\n%s", status, errs)
	}
}

func TestHostsMisuse(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--host", "a:0"}, "0 slots"},
		{[]string{"--host", "a,b", "--hostfile", "f"}, "--host and --hostfile both name the hosts"},
		{[]string{"--hostfile", "/nonexistent/hosts"}, "--hostfile: open /nonexistent/hosts"},
		{[]string{"-n", "2", "--ppn", "1"}, "--ppn is for jobs on several hosts"},
		{[]string{"-n", "2", "--launcher", "ssh"}, "--launcher is for jobs on several hosts"},
		{[]string{"-n", "3", "--host", "a,b"}, "the hosts have 2 slots"},
		{[]string{"--host", "a,b", "--map-by", "socket"}, "want slot or node"},
		{[]string{"--host", "a", "-N", "2"}, "-N 2: there is 1 host only: a:1"},
		{[]string{"--host", "a,b", "-N", "2", "-n", "1"}, "-N 2: there is 1 rank only"},
		{[]string{"--host", "a,a:0"}, "0 slots have room for no rank"},
		{[]string{"--host", "a:1:2"}, "want NAME or NAME:SLOTS"},
		{[]string{"--host", "a,b", "--conduit", "sci"}, "conduit sci cannot be used on 2 hosts: sci joins ranks of one host; 1 of 2 ranks are on another"},
		{[]string{"--host", "a,b", "--conduit", "myrinet"}, "conduit myrinet cannot be used on 2 hosts"},
		{[]string{"--host", "a,b", "--conduit", "loopback"}, "conduit loopback cannot be used on 2 hosts: loopback joins ranks of one process only"},
		{[]string{"--host", "a,b", "--host-id", "mac"}, "--host-id mac: want kernel or name"},
		{[]string{"--host", "a,b", "--goroutines"}, "leave --host and --hostfile out"},
		{[]string{"--host", "a,b", "--tree-width", "0"}, "--tree-width"},
		{[]string{"-n", "2", "--tree-width", "2"}, "--tree-width is for jobs on several hosts"},
		{[]string{"--host", "a,b", "--host-timeout", "0"}, "--host-timeout 0s is too short"},
		{[]string{"--host", "a,b", "--launcher", "telepathy"}, "there is no launcher \"telepathy\""},
		{[]string{"--host", "a,b", "--launcher", "local", "--push"}, "launcher local cannot push programs"},
	} {
		status, _, errs := output(t, "", append(c.args, "true")...)
		if status != statusUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%q: status %d, want %d and %q\n%s", c.args, status, statusUsage, c.says, errs)
		}
	}
}

// A conduit of one host is refused only where there are several.
func TestConduitOfOneHost(t *testing.T) {
	if status, out, errs := output(t, "barrier", "--launcher", "local", "--host", "alpha:2", "--conduit", "sci", self(t)); status != 0 || out != "sci\n" {
		t.Errorf("status %d, conduit %q\n%s", status, out, errs)
	}
	t.Setenv("AQUEDUCT_CONDUIT", "sci")
	if status, _, errs := output(t, "barrier", "--launcher", "local", "--host", "alpha,beta", self(t)); status != statusUsage || !strings.Contains(errs, "cannot be used on 2 hosts") {
		t.Errorf("by the environment: status %d\n%s", status, errs)
	}
}

// At the time limit a table comes before any goroutine: rank, host, what it waits for, and messages by peer. The goroutines by which
// ranks hear from their launcher are in no dump.
func TestTableOverHosts(t *testing.T) {
	status, _, errs := output(t, "stuck", "--timeout", "5s", "--launcher", "local", "--host", "alpha:2,beta", self(t))
	table, dumps, found := strings.Cut(errs, "SIGQUIT: goroutines of rank")
	if status != 124 || !found {
		t.Errorf("status %d\n%s", status, errs)
	}
	for _, want := range []string{
		`rank 0 on alpha waits for barrier 1 of the Core API since \S+s\n`,
		`rank 1 on alpha has not polled for \S+s\n`,
		`rank 2 on beta waits for barrier 1 of the Core API since \S+s\n`,
		`rank 0 with rank 2: \d+ requests? and \d+ repl(y|ies) sent, \d+ messages? received\n`,
		`rank 2 with rank 0: \d+ requests? and \d+ repl(y|ies) sent, \d+ messages? received\n`,
	} {
		if !regexp.MustCompile(want).MatchString(table) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if !strings.Contains(dumps, "hangHere") || strings.Contains(dumps, "aqueduct/spawner.") {
		t.Errorf("goroutines\n%s", dumps)
	}
}

// What a host lacks is said with its name, before any rank starts.
func TestHostsThatCannotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"/nonexistent"}, 127, "host alpha: program /nonexistent: no such file; host beta: program /nonexistent: no such file"},
		{[]string{file}, 126, "host alpha: program " + file + " cannot be executed"},
		{[]string{"--wdir", "/nonexistent", "true"}, 125, "host alpha: working directory: stat /nonexistent"},
		{[]string{"--output-dir", "/dev/null/out", "true"}, 125, "output directory: mkdir /dev/null"},
		{[]string{"--output-dir", "/proc", "true"}, 125, "/proc/rank.0.out: "},
		{[]string{"--agent", "/nonexistent/aqrun", "true"}, 125, "/nonexistent/aqrun"},
	} {
		status, _, errs := output(t, "", append([]string{"--launcher", "local", "--host", "alpha,beta"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.says) {
			t.Errorf("%q: status %d, want %d and %q\n%s", c.args, status, c.status, c.says, errs)
		}
	}
}

// A program that names no conduit runs over one that joins hosts.
func TestConduitOverHosts(t *testing.T) {
	status, out, errs := output(t, "barrier", "--launcher", "local", "--host", "alpha:2,beta", self(t))
	if status != 0 || out != "nbrhd\n" { // of udp, and of memory for ranks of a host
		t.Errorf("status %d, conduit %q\n%s", status, out, errs)
	}
}

// This host needs no ssh.
func TestLocalHost(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []string{"1", "32"} {
		if status, out, errs := output(t, "where", "--host-id", "name", "--tree-width", width, "--host", "localhost,"+own+":2", self(t)); status != 0 || out != "0 1 1\n" {
			t.Errorf("width %s: status %d, hosts %q\n%s", width, status, out, errs)
		}
	}
	if status, _, errs := output(t, "where", "--host", "localhost,"+own+":2", self(t)); status != 125 || !strings.Contains(errs, "localhost and "+own+" are one host") {
		t.Errorf("two names of one host: status %d\n%s", status, errs)
	}
	if status, _, errs := output(t, "where", "--host", "elsewhere", self(t)); status != 125 || !strings.Contains(errs, "launcher ssh: there is no program ssh in PATH: install OpenSSH's client") {
		t.Errorf("without ssh: status %d\n%s", status, errs)
	}
}

// In a tree each agent starts those below it, and a dry run says where.
func TestTreeOfHosts(t *testing.T) {
	for _, dry := range []bool{false, true} {
		args := []string{"--launcher", "env HERE=%H %C", "--host", "node[0-6]", "--host-id", "name", "--tree-width", "2", "--host-timeout", "20s", self(t)}
		if dry {
			args = append([]string{"--dry-run"}, args...)
		}
		status, out, errs := output(t, "where", args...)
		if status != 0 || !dry && out != "0 1 2 3 4 5 6\n" {
			t.Errorf("status %d, hosts %q\n%s", status, out, errs)
		}
		for _, start := range []string{"/usr/bin/env HERE=node0 ", "# on node0: env HERE=node1 ", "# on node0: env HERE=node2 ", "/usr/bin/env HERE=node3 ", "# on node3: env HERE=node4 ", "# on node3: env HERE=node5 ", "# on node5: env HERE=node6 "} {
			if dry && !strings.Contains(out, start+aqrun) {
				t.Errorf("a dry run does not say %q:\n%s", start, out)
			}
		}
	}
}

// This host comes first in a tree: who starts its agent is here, and needs no ssh.
func TestThisHostComesFirst(t *testing.T) {
	status, out, errs := output(t, "", "--dry-run", "--tree-width", "1", "--host", "elsewhere,localhost", "prog")
	if status != 0 || !strings.HasPrefix(out, aqrun+" aqueduct-agent\n# on localhost: ssh -T ") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
}

func TestDryRunOfHosts(t *testing.T) {
	status, out, errs := output(t, "", "--dry-run", "--host", "alpha,beta", "--launcher", "env HOST=%H OF=%N 100%% %C", "--wdir", "/", "prog", "a b")
	want := ""
	for _, host := range []string{"alpha", "beta"} {
		want += "/usr/bin/env HOST=" + host + " OF=2 100% " + aqrun + " aqueduct-agent\n"
	}
	if status != 0 || !strings.HasPrefix(out, want) || !strings.Contains(out, "# on beta: cd / && env ") || !strings.HasSuffix(out, " prog 'a b'\n") {
		t.Errorf("status %d\n%swant\n%s…\n%s", status, out, want, errs)
	}
}
