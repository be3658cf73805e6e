package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/internal/programs"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// roleEnv makes the test program a rank: it names one of roles.
const roleEnv = "AQIMPAIR_TEST_ROLE"

// The programs under test, built by TestMain.
var aqimpair, aqrun string

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleEnv)]; role != nil {
		role()
		os.Exit(0)
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aqimpair-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	aqimpair, aqrun = filepath.Join(dir, "aqimpair"), filepath.Join(dir, "aqrun")
	if err := programs.Build(dir, "./cmd/aqimpair", "./cmd/aqrun"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

var roles = map[string]func(){
	"echo": echo,
	"node": func() {
		all, err := net.Interfaces()
		check(err)
		for _, i := range all {
			addrs, err := i.Addrs()
			check(err)
			addrs = slices.DeleteFunc(addrs, func(a net.Addr) bool { return strings.Contains(a.String(), ":") }) // IPv6
			fmt.Println(i.Name, i.MTU, addrs)
		}
		fmt.Println(os.Getenv(envAddress))
	},
	"wait": func() {
		boot, err := spawner.Connect()
		check(err)
		check(boot.Barrier())
		fmt.Println("ready", os.Getpid())
		<-boot.Done()
	},
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		os.Exit(99)
	}
}

// echo is a rank that has the next rank answer 50 datagrams, each sent until it is answered.
func echo() {
	boot, err := spawner.Connect()
	check(err)
	own, err := netip.ParseAddr(os.Getenv(envAddress))
	check(err)
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(own, 0)))
	check(err)
	all, err := boot.Exchange([]byte(conn.LocalAddr().String()))
	check(err)
	next, err := netip.ParseAddrPort(string(all[(int(boot.Rank())+1)%boot.Size()]))
	check(err)
	answers := make(chan uint32, 1000)
	go answer(conn, next, answers)
	for i := range uint32(50) {
		ask(conn, next, i, answers)
	}
	check(boot.Barrier()) // until then others may need an answer
	fmt.Println("rank", boot.Rank(), "at", own, "is done")
	check(boot.Close())
}

// answer returns every question to its sender, and hands on what the next rank has answered.
func answer(conn *net.UDPConn, next netip.AddrPort, answers chan<- uint32) {
	buf := make([]byte, 2000)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		check(err)
		switch {
		case n == 5 && buf[0] == '?':
			buf[0] = '!'
			_, err = conn.WriteToUDPAddrPort(buf[:n], from)
			check(err)
		case n == 5 && buf[0] == '!' && from == next:
			answers <- binary.LittleEndian.Uint32(buf[1:])
		}
	}
}

// ask sends a question until it is answered.
func ask(conn *net.UDPConn, to netip.AddrPort, number uint32, answers <-chan uint32) {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		_, err := conn.WriteToUDPAddrPort(binary.LittleEndian.AppendUint32([]byte{'?'}, number), to)
		check(err)
		for waiting := true; waiting; {
			select {
			case n := <-answers:
				if n == number {
					return
				}
			case <-again.C:
				waiting = false
			}
		}
	}
}

// command is aqimpair with arguments, about to run.
func command(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(aqimpair, args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}

// output runs aqimpair to its end.
func output(t *testing.T, role string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, role, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// needNetwork skips the test if no network can be made here.
func needNetwork(t *testing.T) {
	t.Helper()
	if status, _, errs := output(t, "", "-n", "1", "true"); status == statusSelf {
		t.Skipf("needs root that may make network namespaces and TUN devices: %s", errs)
	}
}

// job returns the arguments that run a job of this test program across a network.
func job(t *testing.T, n int, link string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ranks := strconv.Itoa(n)
	args := []string{"-n", ranks, "--mtu", "1400", "--seed", "5", "--report"}
	if link != "" {
		args = append(args, "--link", link)
	}
	return append(args, "--", aqrun, "-n", ranks, "--launch-prefix", aqimpair+" enter {rank}", self)
}

// A job starts across namespaces, each rank in its own, and gets through what links do.
func TestJob(t *testing.T) {
	needNetwork(t)
	status, out, errs := output(t, "echo", job(t, 4, "loss=20%,dup=10%,reorder=10%,corrupt=5%,delay=200us,jitter=100us")...)
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	for rank := range 4 {
		if want := fmt.Sprintf("rank %d at 10.77.0.%d is done\n", rank, rank+1); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var sent, lost int
	if _, err := fmt.Sscanf(errs, "aqimpair: %d packets: %d lost", &sent, &lost); err != nil || sent < 400 || lost < sent/10 {
		t.Errorf("%d packets, %d lost, %v:\n%s", sent, lost, err, errs)
	}
}

// Nodes are apart: each has its device alone, with the MTU that was asked for.
func TestNode(t *testing.T) {
	needNetwork(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	status, out, errs := output(t, "node", "-n", "3", "--mtu", "1234", aqimpair, "enter", "2", self)
	if want := "lo 65536 [127.0.0.1/8]\naq0 1234 [10.77.0.3/16]\n10.77.0.3\n"; status != 0 || out != want {
		t.Errorf("status %d, %q, want %q\n%s", status, out, want, errs)
	}
}

// When aqimpair is killed its command and the ranks end, and with them the network.
func TestKill(t *testing.T) {
	needNetwork(t)
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGTERM} {
		cmd := command(t, "wait", job(t, 3, "")...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		var ranks []int // descriptors of processes
		for lines := bufio.NewScanner(out); len(ranks) < 3 && lines.Scan(); {
			pid, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "ready "))
			if err != nil {
				t.Fatalf("a rank says %q", lines.Text())
			}
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			ranks = append(ranks, fd)
		}
		if len(ranks) < 3 {
			t.Fatal("not all ranks are ready")
		}
		cmd.Process.Signal(sig)
		for rank, fd := range ranks {
			if !ends(fd) {
				t.Errorf("%v: rank %d lives on", sig, rank)
				unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
		}
		cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); sig == unix.SIGTERM && status != 128+int(sig) {
			t.Errorf("%v: status %d", sig, status)
		}
	}
}

// ends waits until a process has ended, for 20 s at most.
func ends(pidfd int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 20_000)
		if err != unix.EINTR {
			return n == 1
		}
	}
}

func TestExitStatus(t *testing.T) {
	needNetwork(t)
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"true"}, 0, ""},
		{[]string{"sh", "-c", "exit 42"}, 42, ""},
		{[]string{"sh", "-c", "kill -SEGV $$"}, 139, ""},
		{[]string{"no-such-program-here"}, 127, "program no-such-program-here not found"},
		{[]string{"/"}, 126, "cannot be executed"},
		{[]string{aqimpair, "enter", "2", "true"}, 2, `node "2": there are 0 to 1`},
		{[]string{aqimpair, "enter", "x", "true"}, 2, `node "x": there are 0 to 1`},
		{[]string{aqimpair, "enter", "1", "no-such-program-here"}, 127, "program no-such-program-here not found"},
		{[]string{aqimpair, "enter", "1", "sh", "-c", "exit 7"}, 7, ""},
	} {
		status, out, errs := output(t, "", append([]string{"-n", "2"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.says) || out != "" || c.says == "" && errs != "" && !strings.Contains(errs, "nothing used the links") {
			t.Errorf("%v: status %d, want %d\n%s%s", c.args, status, c.status, out, errs)
		}
	}
}

func TestMisuse(t *testing.T) {
	for args, says := range map[string]string{
		"":                            "number of nodes is missing",
		"true":                        "number of nodes is missing",
		"-n 0 true":                   "0 nodes: want 1 to 1024",
		"-n 2000 true":                "2000 nodes: want 1 to 1024",
		"-n two true":                 "want a whole number",
		"-n 2 -n 3 true":              `given before as "2"`,
		"-n 2 --seed 1 --seed 2 true": "given before",
		"-n 2 --mtu 1e3 true":         "want a whole number",
		"-n 2 --link= true":           "--link needs a value",
		"-n 2":                        "command is missing",
		"-n 2 --":                     "command is missing",
		"-n 2 --link loss=2 true":     "--link: loss=2: want a share",
		"-n 2 --link speed=1 true":    "--link: unknown setting",
		"-n 2 --mtu 20 true":          "want 68 to 65535",
		"-n 2 --seed -1 true":         "want a whole number from 0 to 2^64-1",
		"-n 2 --no-such-option true":  "unknown flag",
		"enter":                       "want a node and a program",
		"enter 0":                     "want a node and a program",
		"enter 0 true":                envNamespaces + " is not set",
		"paths 7":                     "it takes options only",
		"paths --loss 200%":           "want a share",
		"paths --time 0s":             "want a positive time",
		"paths --rtt -1ms":            "want a positive time",
		"paths --rate 0":              "want megabytes a second",
	} {
		status, out, errs := output(t, "", strings.Fields(args)...)
		if status != statusUsage || out != "" || !strings.HasPrefix(errs, "aqimpair: ") || !strings.Contains(errs, says) {
			t.Errorf("aqimpair %s: status %d\n%s%s", args, status, out, errs)
		}
	}
}

// The table has a row for each path, with a rate for each kind of stream.
func TestPaths(t *testing.T) {
	needNetwork(t)
	for _, share := range []string{"", "--share"} {
		args := strings.Fields("paths --rtt 4ms --loss 1% --reorder 1% --time 300ms " + share)
		status, out, errs := output(t, "", args...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if status != 0 || errs != "" || len(lines) != 2 {
			t.Fatalf("%v: status %d\n%s%s", args, status, out, errs)
		}
		head, cells := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(lines[0], "of best", "of"), "by ", "")), strings.Fields(lines[1])
		if len(cells) != len(head) {
			t.Fatalf("%v: %d figures under %d heads\n%s", args, len(cells), len(head), out)
		}
		for i, c := range cells[4:] {
			if v, err := strconv.ParseFloat(c, 64); err != nil || !(v >= 0) {
				t.Errorf("%v: %s of %s\n%s", args, c, head[4+i], out)
			}
		}
	}
}

// The ends of streams and the tunnel can all run at a time, however few CPUs there are.
func TestRunsAtOnce(t *testing.T) {
	needNetwork(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	at := 0
	idle := kind{"idle", func(*tunnel.Tunnel) (*flow, error) {
		at = runtime.GOMAXPROCS(0)
		return new(flow), nil
	}}
	if _, err := (point{}).run(time.Millisecond, idle, idle); err != nil {
		t.Fatal(err)
	}
	if after := runtime.GOMAXPROCS(0); at != 5 || after != 1 {
		t.Errorf("two streams and a tunnel run on %d processors of Go, and what follows on %d; want 5 and 1", at, after)
	}
}

func TestHelp(t *testing.T) {
	status, out, errs := output(t, "", "-h")
	if status != 0 || errs != "" || !strings.HasPrefix(out, "Usage: aqimpair") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	root().Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(out, "--"+f.Name+" ") {
			t.Errorf("the help does not mention --%s", f.Name)
		}
	})
}
