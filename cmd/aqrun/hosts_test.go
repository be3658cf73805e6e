package main

import (
	"os"
	"path/filepath"
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
		{"node[1-2]", "1(x2)", []string{"-n", "3", "--oversubscribe"}, "0 0 1", "host node1 has 2 ranks on 1 slots"},
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
		{[]string{"--host", "a,b", "--goroutines"}, "leave --host and --hostfile out"},
		{[]string{"--host", "a,b", "--launcher", "telepathy"}, "there is no launcher \"telepathy\""},
		{[]string{"--host", "a,b", "--launcher", "local", "--push"}, "launcher local cannot push programs"},
	} {
		status, _, errs := output(t, "", append(c.args, "true")...)
		if status != statusUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%q: status %d, want %d and %q\n%s", c.args, status, statusUsage, c.says, errs)
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
	if status, out, errs := output(t, "where", "--host", "localhost,"+own+":2", self(t)); status != 0 || out != "0 1 1\n" {
		t.Errorf("status %d, hosts %q\n%s", status, out, errs)
	}
	if status, _, errs := output(t, "where", "--host", "elsewhere", self(t)); status != 125 || !strings.Contains(errs, "launcher ssh: there is no program ssh in PATH: install OpenSSH's client") {
		t.Errorf("without ssh: status %d\n%s", status, errs)
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
