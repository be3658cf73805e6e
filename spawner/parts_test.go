package spawner

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/stacks"
	"github.com/aqueduct-go/aqueduct/internal/wire"
	"golang.org/x/sys/unix"
)

func TestVerdict(t *testing.T) {
	type step struct {
		status        int
		first, counts bool
	}
	for _, c := range []struct {
		name  string
		steps []step
		want  int
	}{
		{"none", nil, 0},
		{"first wins", []step{{3, true, true}, {4, false, false}, {0, false, false}}, 3},
		{"non-zero beats zero", []step{{0, true, true}, {4, false, true}, {5, false, false}}, 4},
		{"zero twice", []step{{0, true, true}, {0, false, false}}, 0},
	} {
		var v verdict
		for i, s := range c.steps {
			if first, counts := v.record(s.status, "why"); first != s.first || counts != s.counts {
				t.Errorf("%s: step %d: first %v, counts %v", c.name, i, first, counts)
			}
		}
		status, err := v.result()
		if status != c.want || core.StatusOf(err) != c.want {
			t.Errorf("%s: status %d, %v; want %d", c.name, status, err, c.want)
		}
	}
}

func TestVerdictOfInterruptedJob(t *testing.T) {
	var v verdict
	v.interrupt(unix.SIGTERM)
	v.record(7, "consequence")
	if status, _ := v.result(); status != 143 {
		t.Errorf("status %d, want 143", status)
	}
	v = verdict{}
	v.record(7, "cause")
	v.interrupt(unix.SIGINT)
	if status, _ := v.result(); status != 7 {
		t.Errorf("interrupted when it was ending: status %d, want 7", status)
	}
}

func TestExitStatus(t *testing.T) {
	for in, want := range map[int]int{0: 0, 1: 1, 255: 255, 256: 1, 257: 1, -1: 255, 512: 1} {
		if got := exitStatus(in); got != want {
			t.Errorf("exitStatus(%d) = %d, want %d", in, got, want)
		}
	}
}

func TestStatusOfProcess(t *testing.T) {
	for ws, want := range map[syscall.WaitStatus]int{0: 0, 7 << 8: 7, 9: 137, 11 | 0x80: 139} {
		if got := statusOf(ws); got != want {
			t.Errorf("statusOf(%#x) = %d, want %d", uint32(ws), got, want)
		}
	}
}

func TestRendezvous(t *testing.T) {
	c := newRendezvous(3)
	for round := range 2 {
		for i, r := range []int{2, 0, 1} {
			complete, err := c.arrive(r, kindExchange, []byte{byte(r)})
			if err != nil || complete != (i == 2) {
				t.Fatalf("round %d: rank %d: complete %v, %v", round, r, complete, err)
			}
			if k, first, ok := c.waiting(); !ok || k != kindExchange || first != 2 {
				t.Fatalf("waiting: %v %d %v", k, first, ok)
			}
		}
		if want := [][]byte{{0}, {1}, {2}}; !reflect.DeepEqual(c.blobs, want) {
			t.Fatalf("blobs %v", c.blobs)
		}
		c.reset()
		if _, _, ok := c.waiting(); ok {
			t.Fatal("somebody waits after reset")
		}
	}
	c.arrive(1, kindShare, nil)
	c.arrive(0, kindShare, nil)
	if _, err := c.arrive(2, kindBarrier, nil); err == nil || !strings.Contains(err.Error(), "rank 1 called ShareFD while rank 2 called Barrier") {
		t.Errorf("mismatch: %v", err)
	}
	if _, err := c.arrive(0, kindShare, nil); err == nil {
		t.Error("a rank made the call twice")
	}
}

// Every rank gets every descriptor once, in order, and no more than allowed are under way.
func TestDealer(t *testing.T) {
	for _, n := range []int{1, 2, 64, 253, 254, 600} {
		var d dealer
		fds := make([]int, n)
		got := make([]int, n) // descriptors each rank has
		flight := 0
		way := d.deal(fds)
		for _, b := range way {
			flight += b.count
		}
		for done := false; len(way) > 0; {
			if flight > max(inFlight, n) {
				t.Fatalf("n=%d: %d descriptors under way", n, flight)
			}
			b := way[0]
			way = way[1:]
			if b.first != got[b.rank] || b.count < 1 || b.count > maxFDs {
				t.Fatalf("n=%d: batch %+v, rank has %d", n, b, got[b.rank])
			}
			got[b.rank] += b.count
			flight -= b.count
			var ok bool
			if done, ok = d.took(); !ok {
				t.Fatalf("n=%d: a batch under way was not expected", n)
			}
			if next, more := d.another(); more {
				way = append(way, next)
				flight += next.count
			}
			if done != (len(way) == 0) {
				t.Fatalf("n=%d: done %v with %d under way", n, done, len(way))
			}
		}
		for r, k := range got {
			if k != n {
				t.Fatalf("n=%d: rank %d got %d", n, r, k)
			}
		}
		if _, ok := d.took(); ok {
			t.Errorf("n=%d: what was not sent was taken", n)
		}
	}
}

// A job that is looked at again and again keeps nothing of that: each look has a timer.
func TestLoopForgetsTimers(t *testing.T) {
	l := newLoop()
	const n = 100
	for range n {
		l.after(0, func() {})
	}
	l.after(time.Hour, func() { t.Error("this is not due") })
	for range n {
		(<-l.events)()
	}
	if len(l.timers) != 1 {
		t.Errorf("%d timers are kept of %d that have come, and one that has not", len(l.timers), n)
	}
	l.end()
}

func TestMergeEnv(t *testing.T) {
	got := mergeEnv([]string{"A=1", "AQUEDUCT_RANK=5", "B=2", "AQUEDUCT_CONDUIT=x"}, []string{"B=3", "C=4"}, []string{"AQUEDUCT_RANK=0", "C=5"})
	want := []string{"A=1", "B=3", "AQUEDUCT_CONDUIT=x", "C=5", "AQUEDUCT_RANK=0"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestQuote(t *testing.T) {
	got := quote([]string{"a/b-c", "", "two words", "it's", "$HOME", "{r}"})
	if want := `a/b-c '' 'two words' 'it'\''s' '$HOME' '{r}'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A pipe that somebody else still holds open gives all that is in it, then ends.
func TestPipeIsEmptiedAtItsDeadline(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	text := strings.Repeat("a line\n", 5000)
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &stream{pipe: r, to: newSink(&out, "test", false, false, func(err error) { t.Error(err) })}
	s.endBy(time.Unix(1, 0))
	s.copy()
	if out.String() != text {
		t.Errorf("%d bytes of %d", out.Len(), len(text))
	}
}

// lineCheck fails a test when it gets a piece of a line.
type lineCheck struct{ t *testing.T }

func (c lineCheck) write(_ *stream, data []byte) {
	if !bytes.HasSuffix(data, []byte("\n")) {
		c.t.Errorf("an unfinished line came out: %q", data[max(0, len(data)-20):])
	}
}

func (lineCheck) finish(*stream) {}

// A reader that is late does not take for silence what lies in the pipe.
func TestLateReaderKeepsLinesWhole(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(strings.Repeat("a line\n", 5000)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	(&stream{pipe: r, to: lineCheck{t}, lineWait: -time.Hour}).copy()
}

// A cut line: the pieces of one stream are kept apart from what comes between.
func TestSinkMarksInterruptedLines(t *testing.T) {
	for tag, want := range map[bool]string{
		true:  "[0] abc\n[1] x\n[0] d\n[1] y\n[1] z\n",
		false: "abc\nx\nd\ny\nz\n",
	} {
		var out bytes.Buffer
		k := newSink(&out, "test", tag, false, nil)
		a, b := &stream{to: k, tag: []byte("[0] ")}, &stream{to: k, tag: []byte("[1] ")}
		k.write(a, []byte("ab"))
		k.write(a, []byte("c"))
		k.write(b, []byte("x\n"))
		k.write(a, []byte("d\n"))
		k.write(b, []byte("y\nz\n"))
		k.finish(a)
		k.finish(b)
		if out.String() != want {
			t.Errorf("tagged %v: %q, want %q", tag, out.String(), want)
		}
	}
}

// FuzzDecode: what comes out of a frame is within it, and nothing panics.
func FuzzDecode(f *testing.F) {
	for _, frame := range [][]byte{
		appendPart(nil, 3, []byte("blob")), appendFDs(nil, 253, 7), appendVerdict(nil, kindAbort, 300, "why"),
		appendFrame(nil, kindBarrier, nil), appendFrame(nil, kindExchange, func(b []byte) []byte { return append(b, 1) }),
		appendFrame(nil, kindLocate, func(b []byte) []byte { return wire.AppendUint32(b, 1) }),
		appendFrame(nil, kindPlace, func(b []byte) []byte { return append(wire.AppendUint32(b, 1), "{}"...) }),
		appendFrame(nil, kindRecord, func(b []byte) []byte { return append(b, "{}"...) }),
		appendFrame(nil, kindStalled, func(b []byte) []byte { return wire.AppendUint64(append(b, stallReport), 1) }),
	} {
		body, _, err := wire.NextFrame(frame, maxFrame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := decode(body)
		if err == nil && (len(m.blob)+len(m.reason) > len(body) || m.status < 0 || m.status > 255) {
			t.Fatalf("decoded %+v from %x", m, body)
		}
		if err == nil && m.kind == kindAbort {
			again, _, err := wire.NextFrame(appendVerdict(nil, kindAbort, m.status, m.reason), maxFrame)
			if m2, err2 := decode(again); err != nil || err2 != nil || !reflect.DeepEqual(m, m2) {
				t.Fatalf("%+v became %+v", m, m2)
			}
		}
	})
}

// pair returns the two ends of a connection.
func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
	}
	return ends[0], ends[1]
}

// FuzzChallenge: whatever a stranger sends, it is not let in.
func FuzzChallenge(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0}, helloSize))
	f.Add(bytes.Repeat([]byte{1}, helloSize+100))
	f.Fuzz(func(t *testing.T, hello []byte) {
		ours, theirs := pair(t)
		if _, err := theirs.Write(hello[:min(len(hello), 4096)]); err != nil {
			t.Fatal(err)
		}
		theirs.CloseWrite()
		if rank, _, _, err := challenge(ours, fresh(secretSize), 4); err == nil {
			t.Fatalf("%x was let in as rank %d", hello, rank)
		}
	})
}

// Files of a job go where there is room, memory first, and why they are not there is told.
func TestScratchNeedsRoom(t *testing.T) {
	memory, disk := t.TempDir(), t.TempDir()
	make := func(need int64, bases ...string) (base, why string) {
		d, why, err := newScratch(need, bases...)
		if err != nil {
			return "", err.Error()
		}
		d.lock.Close()
		return filepath.Dir(d.path), why
	}
	if base, why := make(1, memory, disk); base != memory || why != "" {
		t.Errorf("with room: in %q, %q", base, why)
	}
	if base, why := make(1, filepath.Join(memory, "none"), disk); base != disk || !strings.Contains(why, "no such file") {
		t.Errorf("without the first: in %q, %q", base, why)
	}
	// No file system has so much; of procfs there is nothing left, and it may be written by nobody.
	if base, why := make(1, "/proc", disk); base != disk || why != "/proc has 0 MB left" {
		t.Errorf("without room in the first: in %q, %q", base, why)
	}
	if base, why := make(math.MaxInt64, memory, disk); base != "" || !strings.Contains(why, "files of the job") || !strings.Contains(why, disk+" has ") {
		t.Errorf("without any room: in %q, %q", base, why)
	}
}

func TestHandshake(t *testing.T) {
	secret := fresh(secretSize)
	meet := func(ours []byte, theirs []byte, rank, size int) (got int, mutual bool, err error) {
		a, b := pair(t)
		expect := make(chan []byte, 1)
		go func() {
			e, _ := respond(b, theirs, purposeRank, rank)
			expect <- e
		}()
		got, _, welcome, err := challenge(a, ours, size)
		return got, err == nil && bytes.Equal(welcome, <-expect), err
	}
	if rank, mutual, err := meet(secret, secret, 3, 4); rank != 3 || !mutual || err != nil {
		t.Errorf("rank %d, mutual %v, %v", rank, mutual, err)
	}
	if _, _, err := meet(secret, fresh(secretSize), 3, 4); err == nil || !strings.Contains(err.Error(), "wrong proof") {
		t.Errorf("wrong secret: %v", err)
	}
	if _, _, err := meet(secret, secret, 4, 4); err == nil || !strings.Contains(err.Error(), "rank 4 of a job of 4") {
		t.Errorf("rank out of range: %v", err)
	}
}

// A proof is good for one rank, one pair of nonces and one direction.
func TestProofsAreNotInterchangeable(t *testing.T) {
	base := dialogue{secret: fresh(32), rank: 1, launcher: fresh(32), client: fresh(32)}
	proof := base.proof(purposeRank)
	other := base
	other.rank = 2
	swapped := base
	swapped.launcher, swapped.client = base.client, base.launcher
	for name, p := range map[string][]byte{
		"direction": base.proof(purposeLauncher), "rank": other.proof(purposeRank), "nonces": swapped.proof(purposeRank),
	} {
		if bytes.Equal(p, proof) {
			t.Errorf("the proof is the same with another %s", name)
		}
	}
}

// A launcher that does not know the secret is not trusted.
func TestRankRefusesImpostor(t *testing.T) {
	a, b := pair(t)
	go func() {
		a.Write(append([]byte(magic), fresh(nonceSize)...))
		io.ReadFull(a, make([]byte, helloSize))
		a.Write(appendFrame(nil, kindWelcome, func(b []byte) []byte { return append(b, fresh(proofSize)...) }))
	}()
	id := &jobID{rank: 0, size: 1, secret: fresh(secretSize)}
	if _, err := id.introduce(newLink(b), purposeRank); err == nil || !strings.Contains(err.Error(), "does not know the secret") {
		t.Errorf("introduce: %v", err)
	}
}

// fullSocket listens with no room for another connection until accept makes some.
func fullSocket(t *testing.T) (path string, listener int) {
	t.Helper()
	socket := func() int {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	path = filepath.Join(t.TempDir(), "s")
	addr := &unix.SockaddrUnix{Name: path}
	listener = socket()
	if err := errors.Join(unix.Bind(listener, addr), unix.Listen(listener, 0)); err != nil {
		t.Fatal(err)
	}
	for {
		fd := socket()
		t.Cleanup(func() { unix.Close(fd) })
		unix.SetNonblock(fd, true)
		switch err := unix.Connect(fd, addr); err {
		case nil:
		case unix.EAGAIN:
			return path, listener
		default:
			t.Fatal(err)
		}
	}
}

// A rank waits while its launcher has too many callers, as long as the launcher lives.
func TestFullBacklog(t *testing.T) {
	for _, lives := range []bool{true, false} {
		path, listener := fullSocket(t)
		joined := make(chan error, 1)
		go func() {
			c, err := dial(path)
			if err == nil {
				c.Close()
			}
			joined <- err
		}()
		for !bytes.Contains(stacks.All(), []byte("spawner.dial(")) || !bytes.Contains(stacks.All(), []byte("unix.Connect(")) {
			if len(joined) > 0 {
				t.Fatalf("a full backlog: %v", <-joined)
			}
			runtime.Gosched()
		}
		if lives {
			fd, _, err := unix.Accept(listener)
			if err != nil {
				t.Fatal(err)
			}
			unix.Close(fd)
			defer unix.Close(listener)
		} else {
			unix.Close(listener)
		}
		if err := <-joined; (err == nil) != lives {
			t.Errorf("launcher lives: %v; dial: %v", lives, err)
		}
	}
}

// testServer listens in a directory that everybody may enter.
func testServer(t *testing.T, patience time.Duration, ours func(pid, group int) bool) (s *server, refusals chan string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "spawner-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	point, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(point.path)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(point.path, 0o777); err != nil {
		t.Fatal(err)
	}
	refusals = make(chan string, 16)
	s = &server{
		point: point, secret: fresh(secretSize), size: 1, uid: os.Geteuid(), patience: patience,
		joined:  func(int, *link, []byte) error { return errors.New("not expected") },
		refused: func(reason string) { refusals <- reason },
		ours:    ours,
		failed:  func(err error) { t.Error(err) },
	}
	s.start()
	t.Cleanup(func() {
		s.stop()
		s.group.Wait()
	})
	return s, refusals
}

func TestSilentStrangerIsRefused(t *testing.T) {
	s, refusals := testServer(t, time.Millisecond, strangers)
	c, err := net.Dial("unix", s.point.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if why := <-refusals; !strings.Contains(why, "no proof within 1ms") {
		t.Errorf("refused: %s", why)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("the connection did not end: %v", err)
	}
}

// strangers is who connects in most tests.
func strangers(int, int) bool { return false }

// A stranger that hangs up is reported; a rank, for which its death is, is not.
func TestHangingUp(t *testing.T) {
	hangUp := func(s *server, read bool) {
		t.Helper()
		c, err := net.Dial("unix", s.point.path)
		if err != nil {
			t.Fatal(err)
		}
		if read { // else the launcher's next read says that the connection was reset
			if _, err := io.ReadFull(c, make([]byte, len(magic)+nonceSize)); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
	s, refusals := testServer(t, time.Hour, strangers)
	for _, read := range []bool{true, false} {
		hangUp(s, read)
		if why := <-refusals; !strings.Contains(why, "process "+strconv.Itoa(os.Getpid())+": ") {
			t.Errorf("refused: %s", why)
		}
	}
	asked := make(chan [2]int)
	s, refusals = testServer(t, time.Hour, func(pid, group int) bool {
		asked <- [2]int{pid, group}
		return true
	})
	for _, read := range []bool{true, false} {
		hangUp(s, read)
		if who, want := <-asked, [2]int{os.Getpid(), unix.Getpgrp()}; who != want {
			t.Errorf("process %d of group %d has hung up, want %v", who[0], who[1], want)
		}
	}
	s.stop()
	s.group.Wait()
	if len(refusals) > 0 {
		t.Errorf("refused: %s", <-refusals)
	}
}

func TestOtherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	s, refusals := testServer(t, time.Hour, strangers)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its user id
		const nobody = 65534
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); e != 0 {
			done <- e
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: s.point.path})
			unix.Close(fd)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if why := <-refusals; !strings.Contains(why, "user id 65534") {
		t.Errorf("refused: %s", why)
	}
}

// More strangers than there are slots wait their turn; none holds the server up for good.
func TestManyStrangers(t *testing.T) {
	s, refusals := testServer(t, 10*time.Millisecond, strangers)
	for range 3 * pendingMax {
		c, err := net.Dial("unix", s.point.path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for range 3 * pendingMax {
		<-refusals
	}
}

// heldWriter writes when it may.
type heldWriter struct {
	may chan struct{}
	bytes.Buffer
}

func (w *heldWriter) Write(b []byte) (int, error) {
	<-w.may
	return w.Buffer.Write(b)
}

// What is to follow a message comes when it is written.
func TestReported(t *testing.T) {
	w := &heldWriter{may: make(chan struct{})}
	o, err := newOutput(&Spec{N: 1, Stdout: io.Discard, Stderr: w}, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	o.report("the table")
	written := make(chan string, 1)
	o.reported(func() { written <- w.String() })
	close(w.may)
	<-o.finish()
	if s := <-written; s != "aqueduct: the table\n" {
		t.Errorf("when %q was written", s)
	}
}
