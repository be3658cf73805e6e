package spawner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/mtls"
	"github.com/aqueduct-go/aqueduct/internal/porttest"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// staticJob is ranks of a static job, all in this process.
type staticJob struct {
	t    *testing.T
	size int
	root string
	key  mtls.Key
	ends sync.WaitGroup
}

func newStaticJob(t *testing.T, size int) *staticJob {
	t.Helper()
	return &staticJob{t: t, size: size, root: porttest.Reserve(t), key: mtls.NewKey()}
}

// spec returns what a rank is told.
func (j *staticJob) spec(rank int) *staticSpec {
	return &staticSpec{rank: rank, size: j.size, root: j.root, key: j.key, limit: 30 * time.Second}
}

// join has a rank join as who it says.
func (s *staticSpec) join(me *arrival) (core.Bootstrap, error) {
	if s.rank == 0 {
		return s.lead(me)
	}
	t, hostOf, err := s.reach(me)
	if err != nil {
		return nil, err
	}
	return s.takePart(t, hostOf, nil)
}

// arrivalOf is what a rank says of itself, on a host of that name.
func (j *staticJob) arrivalOf(rank int, host string) *arrival {
	return &arrival{Rank: rank, Size: j.size, Build: "build 1", Name: host, Host: host, Process: 1000 + rank}
}

// begin has a rank join in the background, and then do something.
func (j *staticJob) begin(s *staticSpec, me *arrival, then func(core.Bootstrap, error)) {
	j.ends.Go(func() { then(s.join(me)) })
}

// good wants the rank to join, and the calls of a job to succeed.
func (j *staticJob) good(b core.Bootstrap, err error) {
	if err == nil {
		var all [][]byte
		if all, err = b.Exchange([]byte{byte(b.Rank())}); err == nil && (len(all) != j.size || !bytes.Equal(all[1], []byte{1})) {
			err = fmt.Errorf("an Exchange yields %v", all)
		}
		err = errors.Join(err, b.Barrier(), b.Close())
	}
	if err != nil {
		j.t.Errorf("a rank: %v", err)
	}
}

// fails wants the rank not to join, for a reason.
func (j *staticJob) fails(want ...string) func(core.Bootstrap, error) {
	return func(_ core.Bootstrap, err error) {
		for _, text := range want {
			if err == nil || !strings.Contains(err.Error(), text) {
				j.t.Errorf("a rank: %v; want %q", err, text)
			}
		}
	}
}

func TestStaticJob(t *testing.T) {
	j := newStaticJob(t, 5)
	for _, rank := range []int{3, 1, 4, 0, 2} { // two hosts
		host := fmt.Sprint("host ", rank%2)
		j.begin(j.spec(rank), j.arrivalOf(rank, host), func(b core.Bootstrap, err error) {
			local := [][]core.Rank{{0, 2, 4}, {1, 3}}[rank%2]
			if err == nil && (!slices.Equal(b.Local(), local) || b.Host(4) != 0 || b.Host(3) != 1) {
				t.Errorf("rank %d: local %v", rank, b.Local())
			}
			j.good(b, err)
		})
	}
	j.ends.Wait()
}

// What keeps a job from starting is said by all ranks, with hosts and ranks.
func TestStaticMisfits(t *testing.T) {
	t.Cleanup(SetPulse(100 * time.Millisecond)) // a rank is there twice if neither is lost, as one is that does not run for twelve of these
	for _, c := range []struct {
		name   string
		change func(*arrival)
		want   []string
	}{
		{"size", func(a *arrival) { a.Size = 7 }, []string{"rank 1 on host beta at 127.0.0.1 is to be one of 7 ranks, and rank 0 on host alpha one of 3"}},
		{"rank", func(a *arrival) { a.Rank = 3 }, []string{"rank 3 on host beta at 127.0.0.1 is none of a job of 3"}},
		{"negative", func(a *arrival) { a.Rank = -1 }, []string{"rank -1 on host beta"}},
		{"twice", func(a *arrival) { a.Rank, a.Process = 0, 77 }, []string{"rank 0 is there twice: process 1000 on host alpha and process 77 on host beta at 127.0.0.1"}},
		{"silence", func(a *arrival) { a.Silence = time.Hour }, []string{"rank 1 on host beta at 127.0.0.1 takes a rank for lost after 1h0m0s, and rank 0 on host alpha after 0s"}},
		{"build", func(a *arrival) { a.Build = "build 2" }, []string{"rank 0 on host alpha has build 1, rank 1 on host beta at 127.0.0.1 has build 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newStaticJob(t, 3)
			j.begin(j.spec(0), j.arrivalOf(0, "alpha"), j.fails(c.want...))
			me := j.arrivalOf(1, "beta")
			c.change(me)
			j.begin(j.spec(1), me, j.fails(c.want...))
			j.ends.Wait()
		})
	}
}

// How long a rank may be silent is a setting.
func TestStaticSilenceIsASetting(t *testing.T) {
	j := newStaticJob(t, 2)
	root := j.spec(0)
	root.silence = MinSilence
	j.begin(root, j.arrivalOf(0, "alpha"), func(b core.Bootstrap, err error) {
		if err == nil {
			err = b.Barrier()
		}
		if want := "rank 1 on host beta at 127.0.0.1 is lost: it has not been heard for 1s"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a barrier yields %v; want %q", err, want)
		}
		if b != nil {
			b.(*staticRank).link.close()
		}
	})
	silent := newTrunk(j.dial())
	silent.pulse = time.Hour
	silent.sendJSON(wordHello, j.arrivalOf(1, "beta"))
	silent.start()
	j.ends.Wait()
	silent.cut()
}

// Ranks that do not come are named when the time is up, to all who have come; so is who was turned away.
func TestStaticMissing(t *testing.T) {
	j := newStaticJob(t, 4)
	root := j.spec(0)
	root.limit = 3 * time.Second
	want := []string{"ranks 1, 3 did not come to rank 0 at " + j.root + " (AQUEDUCT_ROOT) within 3s (AQUEDUCT_START_TIMEOUT)", "turned away last: 127.0.0.1:"}
	j.begin(root, j.arrivalOf(0, "alpha"), j.fails(want...))
	j.begin(j.spec(2), j.arrivalOf(2, "gamma"), func(b core.Bootstrap, err error) { j.fails(want[0])(b, err) })
	other := j.spec(1)
	other.key = mtls.NewKey()
	j.begin(other, j.arrivalOf(1, "beta"), j.fails("rank 0 at "+j.root+": it has another key; give all ranks the same file (AQUEDUCT_KEY_FILE)"))
	j.ends.Wait()
}

// A rank waits for rank 0, and for its name, as long as it is told.
func TestStaticNoRoot(t *testing.T) {
	j := newStaticJob(t, 2)
	for root, want := range map[string]string{j.root: "connection refused", "nowhere.invalid:7077": "lookup nowhere.invalid"} {
		s := j.spec(1)
		s.root, s.limit = root, 300*time.Millisecond
		_, err := s.join(j.arrivalOf(1, "beta"))
		j.fails("rank 0 was not reached at "+root+" (AQUEDUCT_ROOT) within 300ms (AQUEDUCT_START_TIMEOUT)", want)(nil, err)
	}
}

// What answers at first, and then is silent until the time is over, has said more with its answer.
func TestStaticRootFallsSilent(t *testing.T) {
	j := newStaticJob(t, 2)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			c.Close()
		}
	}()
	s := j.spec(1)
	s.root, s.limit = l.Addr().String(), 2*time.Second
	_, err = s.join(j.arrivalOf(1, "beta"))
	j.fails("within 2s (AQUEDUCT_START_TIMEOUT): ", "first record does not look like a TLS handshake")(nil, err)
}

// Where rank 0 cannot listen is an error that says so.
func TestStaticPortInUse(t *testing.T) {
	j := newStaticJob(t, 2)
	l, err := net.Listen("tcp", j.root)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = j.spec(0).join(j.arrivalOf(0, "alpha"))
	j.fails("rank 0 on host alpha", "AQUEDUCT_ROOT="+j.root, "address already in use")(nil, err)
}

// dial connects to the root, with the key, when it is there.
func (j *staticJob) dial() net.Conn {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), time.Minute)
	defer cancel()
	for {
		c, err := j.key.Dial(ctx, staticProtocol, j.root)
		if err == nil {
			j.t.Cleanup(func() { c.Close() })
			return c
		}
		if ctx.Err() != nil {
			j.t.Fatal(err)
		}
	}
}

// Strangers, with and without the key, neither harm a job nor hold it up.
func TestStaticStrangers(t *testing.T) {
	j := newStaticJob(t, 3)
	j.begin(j.spec(0), j.arrivalOf(0, "alpha"), j.good)
	j.dial() // and says nothing
	nonsense := func(write func(io.Writer)) {
		c := j.dial()
		write(c)
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Logf("a stranger is told: %v", err)
		}
	}
	nonsense(func(w io.Writer) { io.WriteString(w, "GET / HTTP/1.1\r\n\r\n") })
	nonsense(func(w io.Writer) { w.Write(encode(wordTask, nil)) })
	nonsense(func(w io.Writer) { w.Write(encode(wordHello, func(b []byte) []byte { return append(b, "{"...) })) })
	nonsense(func(w io.Writer) { // a length that no frame has
		w.Write(wire.AppendUint32(nil, 1<<31))
	})
	for range 100 {
		c, err := net.Dial("tcp", j.root)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	j.begin(j.spec(1), j.arrivalOf(1, "beta"), j.good)
	j.begin(j.spec(2), j.arrivalOf(2, "gamma"), j.good)
	j.ends.Wait()
}

// enters has a rank say who it is, and returns the trunk to rank 0.
func (j *staticJob) enters(me *arrival) *trunk {
	tr := newTrunk(j.dial())
	tr.sendJSON(wordHello, me)
	tr.start()
	tr.flush()
	return tr
}

// Before a job has begun a rank may go and come again, also before that it has gone is known; afterwards nobody may come.
func TestStaticComesAgain(t *testing.T) {
	j := newStaticJob(t, 3)
	begun, over := make(chan struct{}), make(chan struct{})
	j.begin(j.spec(0), j.arrivalOf(0, "alpha"), func(b core.Bootstrap, err error) {
		close(begun)
		<-over
		j.good(b, err)
	})
	j.enters(j.arrivalOf(1, "beta")).cut()
	lingers := j.enters(j.arrivalOf(1, "beta"))
	j.begin(j.spec(1), j.arrivalOf(1, "gamma"), func(b core.Bootstrap, err error) {
		<-over
		j.good(b, err)
	})
	last := j.spec(2)
	j.begin(last, j.arrivalOf(2, "gamma"), func(b core.Bootstrap, err error) {
		<-over
		j.good(b, err)
	})
	lingers.cut()
	<-begun
	_, err := j.spec(1).join(j.arrivalOf(1, "delta"))
	j.fails("rank 1 on host delta at 127.0.0.1 comes when the job has begun")(nil, err)
	close(over)
	j.ends.Wait()
}

// An end reaches all ranks with its status, whoever ends the job; so does the silence of a rank.
func TestStaticEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		by     int
		do     func(*staticRank)
		status int
		says   string
	}{
		{"abort", 2, func(r *staticRank) { r.Abort(7, "enough") }, 7, "enough"},
		{"abort of rank 0", 0, func(r *staticRank) { r.Abort(7, "enough") }, 7, "enough"},
		{"end with 0", 1, func(r *staticRank) { r.Abort(0, "done") }, 0, "done"},
		{"lost", 2, func(r *staticRank) { r.link.close() }, statusLost, "rank 2 on host beta at 127.0.0.1 is lost: the connection has ended"},
		{"breach", 1, func(r *staticRank) { r.link.send(appendFrame(nil, kindShare, nil)) }, 1, "rank 1 broke the bootstrap protocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newStaticJob(t, 3)
			for rank := range j.size {
				j.begin(j.spec(rank), j.arrivalOf(rank, []string{"alpha", "beta"}[min(rank, 1)]), func(b core.Bootstrap, err error) {
					if err != nil {
						t.Error(err)
						return
					}
					if err := b.Barrier(); err != nil {
						t.Error(err)
					}
					if rank == c.by {
						c.do(b.(*staticRank))
					}
					end := (*core.ExitError)(nil)
					if err := <-b.Done(); rank != c.by || c.name != "lost" {
						if !errors.As(err, &end) || end.Status != c.status || !strings.Contains(end.Reason, c.says) {
							t.Errorf("rank %d: %v; want status %d", rank, err, c.status)
						}
					}
					b.(*staticRank).link.close() // as the end of the process does
					b.(*staticRank).neighbours.Close()
					if rank == 0 {
						if status, _ := b.(*staticRank).hub.job.Wait(); status != c.status {
							t.Errorf("the job ended with status %d", status)
						}
					}
				})
			}
			j.ends.Wait()
		})
	}
}

// What the environment says is checked, and what is wrong with it is said.
func TestStaticEnvironment(t *testing.T) {
	digits := strings.Repeat("0123456789abcdef", 4)
	key, old, open := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "key")
	for path, text := range map[string]string{key: digits, open: digits, old: digits + " expires=2001-01-01T00:00:00Z"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  []string // besides what is right
		rank int
		want string
	}{
		{nil, 3, ""},
		{[]string{"AQUEDUCT_RANK=", "JOB_COMPLETION_INDEX=2"}, 2, ""},
		{[]string{"AQUEDUCT_RANK=$SLOT", "SLOT=1"}, 1, ""},
		{[]string{"JOB_COMPLETION_INDEX=2"}, 3, ""},
		{[]string{"AQUEDUCT_START_TIMEOUT=90s", "AQUEDUCT_GRACE=2s"}, 3, ""},
		{[]string{"AQUEDUCT_RANK="}, 0, `AQUEDUCT_RANK="" is not a rank of a job of 4`},
		{[]string{"AQUEDUCT_RANK=", "JOB_COMPLETION_INDEX=4"}, 0, `JOB_COMPLETION_INDEX="4" is not a rank of a job of 4`},
		{[]string{"AQUEDUCT_RANK=4"}, 0, `AQUEDUCT_RANK="4" is not a rank`},
		{[]string{"AQUEDUCT_RANK=-1"}, 0, `AQUEDUCT_RANK="-1" is not a rank`},
		{[]string{"AQUEDUCT_SIZE="}, 0, `AQUEDUCT_SIZE="" is not a number of ranks`},
		{[]string{"AQUEDUCT_SIZE=100000"}, 0, `AQUEDUCT_SIZE="100000" is not a number of ranks`},
		{[]string{"AQUEDUCT_ROOT=alpha"}, 0, `AQUEDUCT_ROOT="alpha" is not the host:port`},
		{[]string{"AQUEDUCT_ROOT=alpha:0"}, 0, `AQUEDUCT_ROOT="alpha:0" is not the host:port`},
		{[]string{"AQUEDUCT_START_TIMEOUT=5"}, 0, "is not a time such as 90s"},
		{[]string{"AQUEDUCT_HOST_TIMEOUT=1m"}, 3, ""},
		{[]string{"AQUEDUCT_HOST_TIMEOUT=10"}, 0, "is not a time such as 20s"},
		{[]string{"AQUEDUCT_HOST_TIMEOUT=999ms"}, 0, "of 1s at least"},
		{[]string{"AQUEDUCT_GRACE=long"}, 0, "is not a time such as 2s"},
		{[]string{"AQUEDUCT_KEY_FILE="}, 0, "needs AQUEDUCT_KEY_FILE"},
		{[]string{"AQUEDUCT_KEY_FILE=/nonexistent/key"}, 0, "no such file"},
		{[]string{"AQUEDUCT_KEY_FILE=" + open}, 0, "its mode is 0644"},
		{[]string{"AQUEDUCT_KEY_FILE=" + old}, 0, "the key has expired"},
	} {
		for _, setting := range slices.Concat([]string{
			"AQUEDUCT_RANK=3", "AQUEDUCT_SIZE=4", "AQUEDUCT_ROOT=alpha:7077", "AQUEDUCT_KEY_FILE=" + key, "AQUEDUCT_START_TIMEOUT=", "AQUEDUCT_HOST_TIMEOUT=", "AQUEDUCT_GRACE=", "JOB_COMPLETION_INDEX=",
		}, c.env) {
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv(name, value)
		}
		if !Launched() || !Static() {
			t.Errorf("%q: no static job", c.env)
		}
		s, err := readStatic()
		if c.want == "" && (err != nil || s.rank != c.rank || s.size != 4) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v; want rank %d, error %q", c.env, err, c.rank, c.want)
		}
		if os.Getenv(EnvKeyFile) != "" {
			t.Error("a child of the rank would take itself for one")
		}
	}
}

func FuzzArrival(f *testing.F) {
	f.Add([]byte(`{"Rank":1,"Size":2,"Build":"build 1","Name":"alpha","Host":"x","Process":7}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := wire.NewReader(text)
		if a, err := decodeArrival(wordHello, r); err == nil && strings.Contains(a.Name, "\n") {
			t.Errorf("%q", a.Name)
		}
	})
}

// stub is a stream of which only the reading end is used.
type stub struct{ io.Reader }

func (stub) Write(b []byte) (int, error) { return len(b), nil }
func (stub) Close() error                { return nil }

func FuzzTrunkLink(f *testing.F) {
	frame := appendVerdict(nil, kindEnd, 7, "enough")
	whole := encode(wordSend, func(b []byte) []byte { return append(b, frame...) })
	f.Add(slices.Concat(whole, encode(wordBeat, nil), whole))
	f.Fuzz(func(t *testing.T, stream []byte) {
		l := trunkLink{trunk: newTrunk(stub{bytes.NewReader(stream)})}
		for total := 0; ; {
			body, err := l.receive()
			if err != nil {
				return
			}
			if total += len(body); total > len(stream) {
				t.Fatal("more comes out than went in")
			}
			decode(body)
		}
	})
}

func FuzzAdmission(f *testing.F) {
	f.Add(encode(wordReady, placement{0, 1, 1}.appendTo))
	f.Add(encode(wordRefusal, func(b []byte) []byte { return wire.AppendText(wire.AppendUint32(b, 125), "no") }))
	f.Fuzz(func(t *testing.T, stream []byte) {
		s := staticSpec{size: 3}
		if hostOf, err := s.admission(newTrunk(stub{bytes.NewReader(stream)})); err == nil {
			if _, err := hostOf.check(); err != nil || len(hostOf) != 3 {
				t.Errorf("%v: %v", hostOf, err)
			}
		}
	})
}
