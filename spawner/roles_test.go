package spawner_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

// roles are what the test program does as a rank. Returning means exit status 0.
var roles = map[string]func(){
	"collectives":  roleCollectives,
	"large":        roleLarge,
	"share":        roleShare,
	"share-limit":  roleShareLimit,
	"startup":      roleStartup,
	"strangers":    roleStrangers,
	"in-handshake": roleInHandshake,
	"twice":        roleTwice,
	"environment":  roleEnvironment,
	"mismatch":     roleMismatch,
	"leave":        roleLeave,
	"early":        roleEarly,
	"never":        roleNever,
	"abort":        roleAbort,
	"abort-late":   roleAbortLate,
	"abort-zero":   roleAbortZero,
	"exit":         roleExit,
	"exit-zero":    roleExitZero,
	"disconnect":   roleDisconnect,
	"malformed":    roleMalformed,
	"wait":         roleWait,
	"stuck":        roleStuck,
	"spin":         roleSpin,
	"signals":      roleSignals,
	"stubborn":     roleStubborn,
	"lines":        roleLines,
	"longline":     roleLongLine,
	"partial":      rolePartial,
	"affinity":     roleAffinity,
	"prompt":       rolePrompt,
	"launcher":     roleLauncher,
	"adopter":      roleAdopter,
	"closed-calls": roleClosedCalls,
}

// check ends the rank with a message unless err is nil.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		os.Exit(99)
	}
}

func assert(ok bool, format string, args ...any) {
	if !ok {
		check(fmt.Errorf(format, args...))
	}
}

func join() core.Bootstrap {
	boot, err := spawner.Connect()
	check(err)
	return boot
}

// awaitEnd waits for the end of the job and leaves with a status that must not count.
func awaitEnd(boot core.Bootstrap) {
	err, ok := <-boot.Done()
	assert(ok, "Done was closed without an error")
	_, again := <-boot.Done()
	assert(!again, "Done yielded twice")
	assert(boot.Barrier() != nil, "Barrier succeeded in a job that has ended")
	fmt.Printf("rank %d heard: %v\n", boot.Rank(), err)
	os.Exit(98)
}

func roleCollectives() {
	boot := join()
	n := boot.Size()
	checkHosts(boot)
	for round := range 10 {
		mine := bytes.Repeat([]byte{byte(boot.Rank())}, round*int(boot.Rank()))
		all, err := boot.Exchange(mine)
		check(err)
		assert(len(all) == n, "Exchange returned %d parts", len(all))
		for r, b := range all {
			assert(bytes.Equal(b, bytes.Repeat([]byte{byte(r)}, round*r)), "round %d: part of rank %d is %v", round, r, b)
			if len(b) > 0 {
				b[0] = 77 // the caller's: nobody else sees it
			}
		}
		check(boot.Barrier())
	}
	check(boot.Close())
}

func roleLarge() {
	boot := join()
	mine := bytes.Repeat([]byte{byte('a' + boot.Rank())}, 3<<20)
	all, err := boot.Exchange(mine)
	check(err)
	for r, b := range all {
		assert(len(b) == len(mine) && b[0] == byte('a'+r) && b[len(b)-1] == byte('a'+r), "part of rank %d: %d bytes", r, len(b))
	}
	_, err = boot.Exchange(make([]byte, spawner.MaxExchange+1))
	assert(err != nil && strings.Contains(err.Error(), strconv.Itoa(spawner.MaxExchange)), "too long: %v", err)
	check(boot.Barrier()) // the refused call was none
	check(boot.Close())
}

// shared makes a memfd that holds the text.
func shared(text string) int {
	fd, err := unix.MemfdCreate("spawner-test", unix.MFD_CLOEXEC)
	check(err)
	_, err = unix.Pwrite(fd, []byte(text), 0)
	check(err)
	return fd
}

func roleShare() {
	boot := join()
	n := boot.Size()
	for round := range 2 {
		mine := shared(fmt.Sprintf("round %d rank %d", round, boot.Rank()))
		fds, err := boot.(core.DescriptorSharer).ShareFD(mine)
		check(err)
		assert(len(fds) == n, "%d descriptors", len(fds))
		_, err = unix.Pwrite(mine, []byte("R"), 0) // seen by all: it is the same memory
		check(err)
		check(boot.Barrier())
		for r, fd := range fds {
			if boot.Host(core.Rank(r)) != boot.Host(boot.Rank()) {
				assert(fd == -1, "descriptor %d of rank %d, who is on another host", fd, r)
				continue
			}
			buf := make([]byte, 64)
			k, err := unix.Pread(fd, buf, 0)
			check(err)
			assert(string(buf[:k]) == fmt.Sprintf("Round %d rank %d", round, r), "descriptor of rank %d holds %q", r, buf[:k])
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			check(err)
			assert(flags&unix.FD_CLOEXEC != 0, "descriptor of rank %d is inherited on exec", r)
			check(unix.Close(fd))
		}
		check(unix.Close(mine))
		check(boot.Barrier())
	}
	check(boot.Close())
}

// roleShareLimit has rank 1 be unable to take all descriptors.
func roleShareLimit() {
	boot := join()
	fd := shared("x")
	if boot.Rank() == 1 {
		free, err := unix.Dup(fd)
		check(err)
		check(unix.Close(free))
		check(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free) + 3, Max: uint64(free) + 3}))
	}
	_, err := boot.(core.DescriptorSharer).ShareFD(fd)
	if boot.Rank() != 1 {
		check(err)
		check(boot.Barrier()) // what rank 1 lacks does not hold up the others
		check(boot.Close())
		return
	}
	assert(err != nil && strings.Contains(err.Error(), "ulimit -n"), "ShareFD: %v", err)
	_, err = os.Stat("/") // what did arrive is closed again
	check(err)
	f, err := os.Open("/dev/null")
	check(err)
	f.Close()
	check(boot.Barrier())
	check(boot.Close())
}

// roleStartup does what a job typically does before its first message.
func roleStartup() {
	boot := join()
	for range 10 {
		_, err := boot.Exchange([]byte("a card of some bytes"))
		check(err)
	}
	for range 2 {
		fd := shared("x")
		fds, err := boot.(core.DescriptorSharer).ShareFD(fd)
		check(err)
		for _, fd := range append(fds, fd) {
			unix.Close(fd)
		}
	}
	check(boot.Barrier())
	check(boot.Close())
}

// roleStrangers has rank 0 attack the socket before anyone has joined but rank 1.
func roleStrangers() {
	if os.Getenv(spawner.EnvRank) == "0" {
		dial := func() net.Conn {
			c, err := net.Dial("unix", os.Getenv(spawner.EnvSocket))
			check(err)
			return c
		}
		for range 4 { // silent, and staying
			dial()
		}
		dial().Close() // refused by nobody
		garbage := dial()
		garbage.Write(bytes.Repeat([]byte("GET / HTTP/1.0\r\n"), 64))
		for buf := make([]byte, 256); ; { // refused: the connection ends
			if _, err := garbage.Read(buf); err != nil {
				break
			}
		}
		// The right protocol, the wrong secret.
		secret := os.Getenv(spawner.EnvSecret)
		os.Setenv(spawner.EnvSecret, strings.Repeat("5a", 32))
		_, err := spawner.Connect()
		assert(err != nil && strings.Contains(err.Error(), "did not let it in"), "wrong secret: %v", err)
		os.Setenv(spawner.EnvSecret, secret)
	}
	roleCollectives()
}

// roleInHandshake has rank 1 stay in the handshake: with what the launcher has said read or
// unread, so that the end of its connection looks in both ways.
func roleInHandshake() {
	if os.Getenv(spawner.EnvRank) != "1" {
		boot := join()
		assert(boot.Barrier() != nil, "Barrier succeeded without rank 1")
		awaitEnd(boot)
	}
	c, err := net.Dial("unix", os.Getenv(spawner.EnvSocket))
	check(err)
	flags := unix.MSG_DONTWAIT
	if os.Getenv("READ") == "" {
		flags |= unix.MSG_PEEK
	}
	raw, err := c.(*net.UnixConn).SyscallConn()
	check(err)
	check(raw.Read(func(fd uintptr) bool {
		n, _, _ := unix.Recvfrom(int(fd), make([]byte, 1024), flags)
		return n > 0
	}))
	fmt.Println("ready")
	select {}
}

// roleTwice joins a second time under the same rank.
func roleTwice() {
	secret := os.Getenv(spawner.EnvSecret)
	if os.Getenv(spawner.EnvRank) == "0" {
		boot := join()
		os.Setenv(spawner.EnvSecret, secret)
		_, err := spawner.Connect()
		assert(err != nil && strings.Contains(err.Error(), "did not let it in"), "second Connect: %v", err)
		fmt.Println("refused")
		check(boot.Barrier())
		check(boot.Close())
		return
	}
	_, err := bufio.NewReader(os.Stdin).ReadString('\n') // /dev/null: no input for rank 1
	assert(err != nil, "rank 1 has input")
	exec.Command("sh", "-c", "read line < "+os.Getenv("GATE")).Run() // until rank 0 is done
	boot := join()
	check(boot.Barrier())
	check(boot.Close())
}

func roleEnvironment() {
	before := os.Getenv(spawner.EnvSecret)
	boot := join()
	_, left := os.LookupEnv(spawner.EnvSecret)
	assert(before != "" && !left, "the secret is still in the environment")
	for _, a := range os.Args {
		assert(!strings.Contains(a, before), "the secret is in the argument list")
	}
	_, err := spawner.Connect()
	assert(err != nil && strings.Contains(err.Error(), spawner.EnvSecret), "second Connect: %v", err)
	dir, err := os.Getwd()
	check(err)
	fmt.Printf("rank=%s size=%s conduit=%s profile=%s segment=%s grace=%s mode=%q x=%s dir=%s args=%q launched=%v\n",
		os.Getenv(spawner.EnvRank), os.Getenv(spawner.EnvSize), os.Getenv(spawner.EnvConduit), os.Getenv(spawner.EnvProfile),
		os.Getenv(spawner.EnvSegment), os.Getenv(spawner.EnvGrace), os.Getenv(spawner.EnvMode), os.Getenv("X"), dir, os.Args[1:], spawner.Launched())
	check(boot.Close())
}

func roleMismatch() {
	boot := join()
	var err error
	if boot.Rank() == 0 {
		_, err = boot.Exchange(nil)
	} else {
		err = boot.Barrier()
	}
	assert(err != nil, "mismatched calls succeeded")
	awaitEnd(boot)
}

// roleLeave has rank 1 call Close while the others wait in a collective.
func roleLeave() {
	boot := join()
	if boot.Rank() == 1 {
		check(boot.Close())
		return
	}
	assert(boot.Barrier() != nil, "Barrier succeeded without rank 1")
	awaitEnd(boot)
}

// roleEarly has rank 1 end before it joins.
func roleEarly() {
	if spawner.RankText() == "1" {
		status, _ := strconv.Atoi(os.Getenv("STATUS"))
		os.Exit(status)
	}
	roleLeave()
}

func roleNever() { fmt.Println("no job needed") }

func roleAbort() {
	boot := join()
	check(boot.Barrier())
	if boot.Rank() == 2 {
		boot.Abort(7, "the bridge is out")
		os.Exit(3)
	}
	awaitEnd(boot)
}

// roleAbortLate has the others abort the job with a failure when they have heard of its
// good end: non-zero beats zero.
func roleAbortLate() {
	boot := join()
	check(boot.Barrier())
	if boot.Rank() == 0 {
		boot.Abort(0, "all is well")
		os.Exit(0)
	}
	<-boot.Done()
	boot.Abort(5, "late, but a failure")
	os.Exit(98)
}

func roleAbortZero() {
	boot := join()
	check(boot.Barrier())
	if boot.Rank() == 0 {
		boot.Abort(0, "finished")
		os.Exit(0)
	}
	awaitEnd(boot)
}

// roleExit has the rank in $WHO exit with the status in $STATUS.
func roleExit() {
	boot := join()
	check(boot.Barrier())
	if fmt.Sprint(boot.Rank()) == os.Getenv("WHO") {
		status, _ := strconv.Atoi(os.Getenv("STATUS"))
		os.Exit(status)
	}
	awaitEnd(boot)
}

// roleExitZero exits with status 0 without Close.
func roleExitZero() {
	boot := join()
	check(boot.Barrier())
	if boot.Rank() == 1 {
		os.Exit(0)
	}
	awaitEnd(boot)
}

// roleDisconnect loses its connection but lives on.
func roleDisconnect() {
	boot := join()
	check(boot.Barrier())
	if boot.Rank() == 1 {
		closeSockets()
		select {}
	}
	awaitEnd(boot)
}

// closeSockets shuts down every socket of this process.
func closeSockets() {
	for fd := 3; fd < 64; fd++ {
		unix.Shutdown(fd, unix.SHUT_RDWR)
	}
}

// roleMalformed has rank 1 send what is no frame of the protocol.
func roleMalformed() {
	boot := join()
	check(boot.Barrier())
	if boot.Rank() == 1 {
		for fd := 3; fd < 64; fd++ {
			unix.Sendto(fd, []byte{1, 0, 0, 0, 200}, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
		}
	}
	awaitEnd(boot)
}

// roleWait says that it is ready, with its process id, and waits for the end.
func roleWait() {
	boot := join()
	check(boot.Barrier())
	fmt.Printf("ready %d\n", os.Getpid())
	awaitEnd(boot)
}

func roleStuck() {
	boot := join()
	check(boot.Barrier())
	stuckHere()
}

//go:noinline
func stuckHere() {
	fmt.Println("ready")
	select {}
}

func roleSpin() {
	boot := join()
	check(boot.Barrier())
	spinHere()
}

//go:noinline
func spinHere() {
	fmt.Println("ready")
	for n := 0; ; n++ {
	}
}

// roleSignals reports the signals it gets, and ends on SIGUSR2.
func roleSignals() {
	c := make(chan os.Signal, 8)
	signal.Notify(c, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
	boot := join()
	check(boot.Barrier())
	fmt.Println("ready")
	for s := range c {
		fmt.Println("got", unix.SignalName(s.(syscall.Signal)))
		if s == unix.SIGUSR2 {
			check(boot.Close())
			return
		}
	}
}

// roleStubborn ignores whatever can be ignored.
func roleStubborn() {
	signal.Ignore(unix.SIGINT, unix.SIGTERM)
	boot := join()
	check(boot.Barrier())
	fmt.Println("ready")
	if boot.Rank() == 0 && os.Getenv("STATUS") != "" {
		status, _ := strconv.Atoi(os.Getenv("STATUS"))
		os.Exit(status)
	}
	select {}
}

// lineCount and lineText define what roleLines writes.
const lineCount = 1500

func lineText(stream string, rank, i int) string {
	return fmt.Sprintf("%s %d %d %s", stream, rank, i, strings.Repeat("x", (i*37+rank)%300))
}

// roleLines writes numbered lines to both streams in pieces that ignore line ends.
func roleLines() {
	rank, _ := strconv.Atoi(os.Getenv(spawner.EnvRank))
	done := make(chan bool)
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		go func() {
			var all strings.Builder
			for i := range lineCount {
				fmt.Fprintln(&all, lineText(strings.TrimPrefix(f.Name(), "/dev/"), rank, i))
			}
			s := all.String()
			for i := 0; len(s) > 0; i++ {
				n := min(len(s), 1+(i*7919+rank*31)%5000)
				_, err := f.WriteString(s[:n])
				check(err)
				s = s[n:]
			}
			done <- true
		}()
	}
	<-done
	<-done
}

func roleLongLine() {
	rank := os.Getenv(spawner.EnvRank)
	fmt.Println(strings.Repeat(rank, 300_000))
}

func rolePartial() { fmt.Printf("no end of line from %s", os.Getenv(spawner.EnvRank)) }

// rolePrompt asks two questions and repeats the answers.
func rolePrompt() {
	in := bufio.NewScanner(os.Stdin)
	for _, question := range []string{"name? ", "colour? "} {
		fmt.Print(question)
		assert(in.Scan(), "no answer")
		fmt.Println(in.Text())
	}
}

func roleAffinity() {
	var set unix.CPUSet
	check(unix.SchedGetaffinity(0, &set))
	cpu := 0
	for !set.IsSet(cpu) {
		cpu++
	}
	fmt.Printf("%d CPUs, first %d\n", set.Count(), cpu)
}

// roleLauncher starts the job of $JOB and writes its processes, then waits for it.
func roleLauncher() {
	os.Unsetenv(roleEnv)
	exe, err := os.Executable()
	check(err)
	spec := spawner.Spec{N: 3, Prog: exe, Env: []string{roleEnv + "=" + os.Getenv("JOB")}, Stdout: os.Stdout, Stderr: os.Stderr}
	if wrap := os.Getenv("WRAP"); wrap != "" {
		spec.Prefix = []string{"sh", "-c", wrap}
	}
	spread(&spec)
	if pulse, err := time.ParseDuration(os.Getenv("PULSE")); err == nil {
		spawner.SetPulse(pulse)
	}
	if by := os.Getenv("LAUNCHER"); by != "" {
		spec.Launch.Launcher = by
	}
	job, err := spawner.Start(context.Background(), spec)
	check(err)
	for r := range spec.N {
		fmt.Printf("process %d\n", job.Pid(core.Rank(r)))
	}
	status, _ := job.Wait()
	os.Exit(status)
}

// roleAdopter is a launcher that orphans are given to: each rank leaves one, which ends
// before the rank does.
func roleAdopter() {
	check(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	os.Unsetenv(roleEnv)
	const script = `
		helper=$(sh -c 'sleep 0.01 >&- & echo $!')
		while [ -e /proc/$helper ] && ! grep -q '^State:.Z' /proc/$helper/status; do :; done`
	for range 20 {
		job, err := spawner.Start(context.Background(), spawner.Spec{
			N: 1, Prog: "sh", Args: []string{"-c", script}, Stdout: os.Stdout,
		})
		check(err)
		if status, err := job.Wait(); status != 0 {
			check(err)
		}
	}
}

// roleClosedCalls checks what the Bootstrap does after Close.
func roleClosedCalls() {
	boot := join()
	check(boot.Barrier())
	check(boot.Close())
	err, ok := <-boot.Done()
	assert(!ok && err == nil, "Done after Close: %v", err)
	assert(boot.Barrier() != nil, "Barrier after Close succeeded")
	boot.Abort(3, "nobody hears this")
}

// checkHosts checks that a bootstrap tells the same of hosts in both ways.
func checkHosts(boot core.Bootstrap) {
	var local []core.Rank
	hosts := 0
	for r := range core.Rank(boot.Size()) {
		h := boot.Host(r)
		assert(h >= 0 && h <= hosts, "rank %d is on host %d, beyond %d", r, h, hosts)
		hosts = max(hosts, h+1)
		if h == boot.Host(boot.Rank()) {
			local = append(local, r)
		}
	}
	assert(slices.Equal(boot.Local(), local), "Local = %v, want %v", boot.Local(), local)
	if want := os.Getenv("HOSTS"); want != "" {
		assert(strconv.Itoa(hosts) == want, "%d hosts, want %s", hosts, want)
	}
}
