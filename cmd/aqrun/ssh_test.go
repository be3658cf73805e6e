package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// network is hosts that are network namespaces of this one, joined by a bridge in one more, each with an
// sshd. The first, which has none, is where aqrun runs.
type network struct {
	names []string // of hosts
	dir   string   // of keys and configurations
	id    string   // begins the names of namespaces
}

// networks counts them.
var networks atomic.Int32

// must runs a command and fails the test if it does.
func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// newNetwork makes hosts of these names.
func newNetwork(t *testing.T, names ...string) *network {
	t.Helper()
	for _, tool := range []string{"ip", "ssh", "ssh-keygen", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs root, network namespaces and an sshd: %v; on Debian: apt-get install iproute2 openssh-client openssh-server", err)
		}
	}
	if err := exec.Command("unshare", "--net", "true").Run(); err != nil {
		t.Skipf("needs root that may make network namespaces: unshare --net: %v", err)
	}
	// sshd insists that no one else may write to the folders above its keys.
	dir, err := os.MkdirTemp("/run", "aqueduct-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	n := &network{names: names, dir: dir, id: fmt.Sprintf("aqt%d-%d-", os.Getpid(), networks.Add(1))}
	n.namespace(t, "switch")
	must(t, "ip", "-n", n.ns("switch"), "link", "add", "bridge", "type", "bridge")
	must(t, "ip", "-n", n.ns("switch"), "link", "set", "bridge", "up")
	must(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", n.file("key"))
	var known, config strings.Builder
	for i, name := range append([]string{"root"}, names...) {
		n.namespace(t, name)
		must(t, "ip", "-n", n.ns("switch"), "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", n.ns(name))
		must(t, "ip", "-n", n.ns("switch"), "link", "set", name, "master", "bridge", "up")
		must(t, "ip", "-n", n.ns(name), "addr", "add", address(i)+"/24", "dev", "eth0")
		must(t, "ip", "-n", n.ns(name), "link", "set", "eth0", "up")
		must(t, "ip", "-n", n.ns(name), "link", "set", "lo", "up")
		if i > 0 {
			n.serve(t, name, address(i), &known)
			fmt.Fprintf(&config, "Host %s\n HostName %s\n", name, address(i))
		}
	}
	fmt.Fprintf(&config, "Host *\n Port 2222\n User root\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n StrictHostKeyChecking yes\n ConnectTimeout 5\n",
		n.file("key"), n.file("known"))
	n.write(t, "known", known.String(), 0o600)
	n.write(t, "config", config.String(), 0o600)
	// The user's configuration: ssh looks for it where the password file says, and not where HOME does.
	n.write(t, "bin/ssh", fmt.Sprintf("#!/bin/sh\nexec %s -F %s \"$@\"\n", lookUp(t, "ssh"), n.file("config")), 0o700)
	return n
}

func lookUp(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func address(i int) string { return fmt.Sprintf("10.77.5.%d", i+1) }

func (n *network) ns(name string) string   { return n.id + name }
func (n *network) file(name string) string { return filepath.Join(n.dir, name) }

func (n *network) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(n.file(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.file(name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// namespace makes one, for the time of the test.
func (n *network) namespace(t *testing.T, name string) {
	t.Helper()
	must(t, "ip", "netns", "add", n.ns(name))
	t.Cleanup(func() {
		for _, pid := range n.processes(name, "") {
			unix.Kill(pid, unix.SIGKILL)
		}
		must(t, "ip", "netns", "del", n.ns(name))
	})
}

// serve starts the sshd of a host.
func (n *network) serve(t *testing.T, name, address string, known *strings.Builder) {
	t.Helper()
	key := n.file("host-" + name)
	must(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(known, "[%s]:2222 %s", address, public)
	n.write(t, "banner", "*** Welcome. All connections are monitored. ***\n", 0o600)
	n.write(t, "sshd-"+name, fmt.Sprintf("Port 2222\nListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\nBanner %s\nPermitRootLogin yes\n",
		address, key, n.file("key.pub"), n.file("banner")), 0o600)
	cmd := exec.Command("ip", "netns", "exec", n.ns(name), "/usr/sbin/sshd", "-D", "-e", "-f", n.file("sshd-"+name))
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var text []byte
	for !bytes.Contains(text, []byte("Server listening")) {
		buf := make([]byte, 1024)
		k, err := said.Read(buf)
		if text = append(text, buf[:k]...); err != nil {
			t.Fatalf("sshd of %s: %v\n%s", name, err, text)
		}
	}
}

// processes returns those in a host's namespace whose command line has the text; "": all.
func (n *network) processes(name, text string) (pids []int) {
	space, err := os.Stat("/run/netns/" + n.ns(name))
	if err != nil {
		return nil
	}
	all, _ := filepath.Glob("/proc/[1-9]*")
	for _, proc := range all {
		in, err := os.Stat(proc + "/ns/net")
		if err != nil || !os.SameFile(space, in) {
			continue
		}
		line, _ := os.ReadFile(proc + "/cmdline")
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil && bytes.Contains(line, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// left returns what there is of a job on all hosts: all but the servers.
func (n *network) left() (lines []string) {
	for _, name := range append([]string{"root"}, n.names...) {
		for _, pid := range n.processes(name, "") {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if text := strings.ReplaceAll(string(line), "\x00", " "); text != "" && !strings.Contains(text, "sshd") {
				lines = append(lines, fmt.Sprintf("%s: process %d: %s", name, pid, text))
			}
		}
	}
	return lines
}

// aqrun is a command for a job of a role over the hosts.
func (n *network) aqrun(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	args = slices.Concat([]string{"netns", "exec", n.ns("root"), aqrun, "-x", roleEnv + "=" + role}, args, []string{self(t)})
	cmd := exec.Command("ip", args...)
	cmd.Env = append(os.Environ(), "PATH="+n.file("bin")+":"+os.Getenv("PATH"))
	return cmd
}

func TestJobsOverSSH(t *testing.T) {
	n := newNetwork(t, "alpha", "beta", "gamma")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		out    string // so often as there are ranks
		err    string
	}{
		{"job", []string{"--host", "alpha:2,beta,gamma:3"}, 0, "ring closed\n", ""},
		{"by node", []string{"-n", "6", "--host", "alpha:2,beta:2,gamma:2", "--map-by", "node"}, 0, "ring closed\n", ""},
		{"pushed", []string{"--push", "-n", "6", "--host", "alpha:6"}, 0, "ring closed\n", ""},
		{"template", []string{"--launcher", "ip netns exec " + n.ns("%H") + " %C", "--host", "alpha:2,beta"}, 0, "ring closed\n", ""},
		{"path", []string{"--agent", "/nonexistent/" + filepath.Base(aqrun), "--host", "alpha"}, 125, "", "host alpha: its agent is gone; "},
		{"unknown host", []string{"--host", "alpha,nowhere"}, 125, "", "host nowhere: its agent is gone; "},
		{"unreachable", []string{"--host", "alpha,10.77.5.200"}, 125, "", "host 10.77.5.200: its agent is gone; "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd := n.aqrun(t, "ring", c.args...)
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(errs.String(), c.err) {
				t.Errorf("status %d, want %d\nstderr:\n%s", status, c.status, errs.String())
			}
			if want := strings.Repeat(c.out, strings.Count(out.String(), "\n")); c.status == 0 && (out.Len() == 0 || out.String() != want || errs.Len() > 0) {
				t.Errorf("stdout:\n%s\nstderr:\n%s", out.String(), errs.String())
			}
			n.awaitNothing(t)
		})
	}
	if dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "aqueduct-push-*")); len(dirs) > 0 {
		t.Errorf("what was pushed is left: %v", dirs)
	}
}

// awaitNothing waits until nothing of a job is left on any host.
func (n *network) awaitNothing(t *testing.T) {
	t.Helper()
	until := time.Now().Add(deadline)
	for left := n.left(); len(left) > 0; left = n.left() {
		if time.Now().After(until) {
			t.Errorf("what is left %v later:\n%s", deadline, strings.Join(left, "\n"))
			return
		}
		for _, pid := range n.processes("root", "") { // wait for one of them, or a while
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
				unix.Close(fd)
			}
		}
	}
}

// Whatever breaks, the job ends, says what is lost, and leaves nothing on any host, also not on one that is cut off.
func TestLostHostsOverSSH(t *testing.T) {
	kill := func(host, text string) func(*testing.T, *network) {
		return func(t *testing.T, n *network) {
			pids := n.processes(host, text)
			if len(pids) == 0 {
				t.Errorf("no process %q on %s", text, host)
			}
			for _, pid := range pids {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
	ip := func(host string, args ...string) func(*testing.T, *network) {
		return func(t *testing.T, n *network) { must(t, "ip", append([]string{"-n", n.ns(host)}, args...)...) }
	}
	for _, c := range []struct {
		name   string
		breaks func(*testing.T, *network)
		status int
		says   string
	}{
		{"agent", kill("beta", "aqueduct-agent"), 137, "host beta is lost: its agent is gone"},
		{"ssh", kill("root", "--\x00beta"), 137, "host beta is lost: its agent is gone"},
		{"aqrun", kill("root", "-x\x00"+roleEnv), -1, ""},
		{"link", ip("switch", "link", "set", "beta", "down"), 137, "host beta is lost: it has not been heard for 6s"},
		{"from there", ip("beta", "route", "add", "blackhole", address(0)), 137, "host beta is lost: it has not been heard for 6s"},
		{"to there", ip("root", "route", "add", "blackhole", address(2)), 137, "host beta is lost: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, "alpha", "beta")
			var errs bytes.Buffer
			cmd := n.aqrun(t, "wait", "--host", "alpha:2,beta:2")
			cmd.Stderr = &errs
			s := start(t, cmd)
			s.await(t, "ready", 4)
			began := time.Now()
			c.breaks(t, n)
			if status := s.status(); status != c.status || !strings.Contains(errs.String(), c.says) {
				t.Errorf("status %d, want %d\nstderr:\n%s", status, c.status, errs.String())
			}
			ended := time.Since(began)
			n.awaitNothing(t)
			t.Logf("aqrun ended after %v, all else after %v", ended.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
		})
	}
}
