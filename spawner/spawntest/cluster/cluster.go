// Package cluster makes hosts of namespaces, for tests of jobs on several hosts. Each host has processes, a network, mounts,
// a /dev/shm and a name of its own, as a container has, and a cable to a switch; the files are everybody's. Hosts know each other's
// names. That needs root. Whatever ends the test's process ends the hosts and all that runs on them, but for [Front].
package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Front is the host where jobs are started: it is one of every Cluster. It sees the test's processes, so that it can start
// commands on the others.
const Front = "front"

// Cluster is hosts that a switch joins.
type Cluster struct {
	Names []string // of the hosts but Front
	Dir   string   // which ends with the test; nobody but root may write to it or above

	wires *host
	mu    sync.Mutex
	hosts map[string]*host // those that are up
	ports int              // of the switch, so far
}

// host is the first process of namespaces, which live as long as it.
type host struct {
	*exec.Cmd
	leash io.Closer // the process ends when this is closed, or the test's process has ended
	port  string    // of the switch

	serving sync.WaitGroup // servers, which end with the first process
}

// New makes a cluster of Front and hosts of these names, up to 200. It skips the test where that is impossible.
func New(t testing.TB, names ...string) *Cluster {
	t.Helper()
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs root, and network namespaces: %v; on Debian: apt-get install iproute2 util-linux", err)
		}
	}
	if err := exec.Command("unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "true").Run(); err != nil {
		t.Skipf("needs root that may make network namespaces: unshare: %v", err)
	}
	dir, err := os.MkdirTemp("/run", "aqueduct-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &Cluster{Names: names, Dir: dir, hosts: map[string]*host{}}
	table := "127.0.0.1 localhost\n"
	for _, name := range c.all() {
		table += c.Address(name) + " " + name + "\n"
	}
	c.write(t, "hosts", table, 0o644)
	c.write(t, "enter", fmt.Sprintf(enter, dir), 0o755)
	t.Cleanup(c.close)
	c.wires = c.boot(t, "switch")
	c.inNetwork(t, c.wires, "link", "add", "bridge", "type", "bridge")
	c.inNetwork(t, c.wires, "link", "set", "bridge", "up")
	for _, name := range c.all() {
		c.Up(t, name)
	}
	return c
}

func (c *Cluster) all() []string { return append([]string{Front}, c.Names...) }

// close ends all hosts.
func (c *Cluster) close() {
	for name := range c.hosts {
		c.end(name)
	}
	if c.wires != nil {
		c.wires.end()
	}
}

// File is a path in Dir.
func (c *Cluster) File(name string) string { return filepath.Join(c.Dir, name) }

func (c *Cluster) write(t testing.TB, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(c.File(name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// Address returns that of a host.
func (c *Cluster) Address(name string) string {
	return fmt.Sprintf("10.77.5.%d", slices.Index(c.all(), name)+1)
}

// first is what the first process of a host does: it gets a directory and the host's name. Control groups are those of the machine.
const first = `
mount --make-rprivate /
if [ $$ = 1 ]; then mount -t proc proc /proc; fi
mount -t tmpfs tmpfs /dev/shm
mkdir -p "$1/cgroup"
mount --rbind /sys/fs/cgroup "$1/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$1/cgroup" /sys/fs/cgroup
hostname "$2"
if [ -f "$1/hosts" ]; then mount --bind "$1/hosts" /etc/hosts; fi
ip link set lo up
echo up
exec cat`

// enter executes a command on a host, in the directory where it is itself.
const enter = `#!/bin/sh
cd=$PWD pid=$(cat '%s'/"$1".pid)
shift
test /proc/$pid/ns/pid -ef /proc/self/ns/pid || processes=--pid
exec nsenter --target $pid --mount --net --uts --ipc $processes -- env -C "$cd" "$@"
`

// boot starts a host, without a cable.
func (c *Cluster) boot(t testing.TB, name string) *host {
	t.Helper()
	cmd := exec.Command("sh", "-ec", first, "sh", c.Dir, name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC}
	if name != Front {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	leash, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &host{Cmd: cmd, leash: leash}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		h.end()
		t.Fatalf("host %s: %s", name, &errs)
	}
	c.write(t, name+".pid", fmt.Sprintln(cmd.Process.Pid), 0o644)
	return h
}

// end ends a host, with all its processes.
func (h *host) end() {
	h.Process.Kill()
	h.leash.Close()
	h.serving.Wait()
	h.Wait() // with the namespace of processes; its status says nothing
}

// Up starts a host that is down: as after a boot, nothing runs on it, and its memory is empty.
func (c *Cluster) Up(t testing.TB, name string) {
	t.Helper()
	h := c.boot(t, name)
	c.mu.Lock()
	c.ports++
	h.port = fmt.Sprintf("p%d", c.ports)
	c.hosts[name] = h
	c.mu.Unlock()
	c.inNetwork(t, c.wires, "link", "add", h.port, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(h.Process.Pid))
	c.inNetwork(t, c.wires, "link", "set", h.port, "master", "bridge", "up")
	c.inNetwork(t, h, "addr", "add", c.Address(name)+"/24", "dev", "eth0")
	c.inNetwork(t, h, "link", "set", "eth0", "up")
}

// Down ends a host as a loss of power does: nobody hears a word of it.
func (c *Cluster) Down(t testing.TB, name string) {
	t.Helper()
	c.inNetwork(t, c.wires, "link", "del", c.up(t, name).port)
	c.end(name)
}

func (c *Cluster) end(name string) {
	c.mu.Lock()
	h := c.hosts[name]
	c.mu.Unlock()
	if name == Front { // no namespace of processes ends with it
		for _, pid := range c.Processes(name, "") {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
	c.mu.Lock()
	delete(c.hosts, name)
	c.mu.Unlock()
	h.end()
}

// up returns a host, which must be up.
func (c *Cluster) up(t testing.TB, name string) *host {
	t.Helper()
	h := c.host(name)
	if h == nil {
		t.Fatalf("host %s is not up", name)
	}
	return h
}

// host returns a host, nil if it is not up.
func (c *Cluster) host(name string) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hosts[name]
}

// inNetwork executes ip(8) in the network of a host.
func (c *Cluster) inNetwork(t testing.TB, h *host, args ...string) {
	t.Helper()
	argv := append([]string{"--target", fmt.Sprint(h.Process.Pid), "--net", "ip"}, args...)
	if out, err := exec.Command("nsenter", argv...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Enter returns the path of a program that executes a command on a host: its arguments are the host and the command. So
// "Enter %H %C" is a launcher's template on Front. Who kills the program does not kill the command, unless that is on Front.
func (c *Cluster) Enter() string { return c.File("enter") }

// Command is a command on a host, which finds first in PATH what ServeSSH has made.
func (c *Cluster) Command(name string, argv ...string) *exec.Cmd {
	cmd := exec.Command(c.Enter(), append([]string{name}, argv...)...)
	cmd.Env = append(os.Environ(), "PATH="+c.path())
	return cmd
}

// path is what PATH is on all hosts.
func (c *Cluster) path() string { return c.File("bin") + ":" + os.Getenv("PATH") }

// Unplug cuts the cable between a host and the switch. Neither end sees more than silence.
func (c *Cluster) Unplug(t testing.TB, name string) {
	t.Helper()
	c.inNetwork(t, c.wires, "link", "set", c.up(t, name).port, "nomaster")
}

// Plug mends what Unplug has cut.
func (c *Cluster) Plug(t testing.TB, name string) {
	t.Helper()
	c.inNetwork(t, c.wires, "link", "set", c.up(t, name).port, "master", "bridge")
}

// Lose has all packets vanish that one host sends to another, and none of the other way.
func (c *Cluster) Lose(t testing.TB, from, to string) {
	t.Helper() // they go to a station that is nobody's
	c.inNetwork(t, c.up(t, from), "neigh", "replace", c.Address(to), "lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent")
}

// Find mends what Lose has broken.
func (c *Cluster) Find(t testing.TB, from, to string) {
	t.Helper()
	c.inNetwork(t, c.up(t, from), "neigh", "del", c.Address(to), "dev", "eth0")
}

// Sent returns how many bytes a host has sent through a device, eth0 or lo, since it is up, with the headers of links and packets.
func (c *Cluster) Sent(t testing.TB, name, device string) (bytes uint64) {
	t.Helper()
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", c.up(t, name).Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		counts, ok := strings.CutPrefix(strings.TrimSpace(line), device+":")
		// What is received, by bytes, packets, errs, drop, fifo, frame, compressed, multicast; then what is sent.
		if f := strings.Fields(counts); ok && len(f) > 8 {
			if _, err := fmt.Sscan(f[8], &bytes); err == nil {
				return bytes
			}
		}
	}
	t.Fatalf("host %s has no device %s:\n%s", name, device, table)
	return 0
}

// Processes returns those of a host whose argument list, joined by zero bytes, has the text; "": all but the first
// process, those that have ended, and what waits for a command in another namespace. They are numbered as on Front.
func (c *Cluster) Processes(name, text string) (pids []int) {
	h := c.host(name)
	if h == nil {
		return nil
	}
	space, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", h.Process.Pid))
	if err != nil {
		return nil
	}
	all, _ := filepath.Glob("/proc/[1-9]*")
	for _, proc := range all {
		in, err := os.Stat(proc + "/ns/net")
		if err != nil || !os.SameFile(space, in) {
			continue
		}
		line, err := os.ReadFile(proc + "/cmdline")
		var pid int
		if _, scan := fmt.Sscan(filepath.Base(proc), &pid); errors.Join(err, scan) != nil || pid == h.Process.Pid {
			continue
		}
		if !ended(proc) && !strings.HasPrefix(string(line), "nsenter\x00") && strings.Contains(string(line), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ended tells whether a process has ended and is not yet waited for. Its argument list is empty; but so is that of a process
// that starts another program, for a moment.
func ended(proc string) bool {
	stat, err := os.ReadFile(proc + "/stat")
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return err != nil || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

// Remains is what jobs have left on the hosts that are up.
type Remains struct {
	Pids  []int    // of processes but those of sshd and Slurm
	Lines []string // tell of these, and of the files in /dev/shm
}

// servers match command lines of what is no part of jobs.
var servers = regexp.MustCompile(`sshd|munged|slurmctld|slurmscriptd|slurmd `)

// Left returns what there is of jobs.
func (c *Cluster) Left() (r Remains) {
	for _, name := range c.all() {
		h := c.host(name)
		if h == nil {
			continue
		}
		for _, pid := range c.Processes(name, "") {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if text := strings.ReplaceAll(string(line), "\x00", " "); !servers.MatchString(text) {
				r.Pids = append(r.Pids, pid)
				r.Lines = append(r.Lines, fmt.Sprintf("%s: process %d: %s", name, pid, text))
			}
		}
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/root/dev/shm", h.Process.Pid))
		for _, f := range files {
			r.Lines = append(r.Lines, fmt.Sprintf("%s: /dev/shm/%s", name, f.Name()))
		}
	}
	return r
}

// AwaitNothing waits until nothing of jobs is left, and fails the test if there is something after the limit.
func (c *Cluster) AwaitNothing(t testing.TB, limit time.Duration) {
	t.Helper()
	until := time.Now().Add(limit)
	for left := c.Left(); len(left.Lines) > 0; left = c.Left() {
		if time.Now().After(until) {
			t.Errorf("what is left %v later:\n%s", limit, strings.Join(left.Lines, "\n"))
			return
		}
		for _, pid := range left.Pids { // wait for one of them, and not for ever
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
				unix.Close(fd)
				break
			}
		}
	}
}
