package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"golang.org/x/sys/unix"
)

// Ranks of two hosts make every call.
func TestCalls(t *testing.T) {
	for _, maxes := range []string{"kvsname_max=256 keylen_max=64 vallen_max=1024", "rc=0 kvsname_max=16 keylen_max=50 vallen_max=64", "kvsname_max=256 keylen_max=256 vallen_max=65536"} {
		f := newFake(t, 5)
		f.maxes = maxes
		errs := f.job([]string{"a", "b", "a", "b", "a"}, func(b *bootstrap) error {
			local := [][]core.Rank{{0, 2, 4}, {1, 3}}[b.rank%2]
			if !slices.Equal(b.Local(), local) || b.Host(b.Rank()) != b.rank%2 || b.Host(4) != 0 || b.Host(3) != 1 {
				return fmt.Errorf("rank %d: local %v, hosts %v", b.rank, b.Local(), b.host)
			}
			for _, n := range []int{0, 1, 64 << 10} {
				all, err := b.Exchange(bytes.Repeat([]byte{byte(b.rank)}, n))
				if err != nil {
					return err
				}
				for r := range all {
					if !bytes.Equal(all[r], bytes.Repeat([]byte{byte(r)}, n)) {
						return fmt.Errorf("rank %d: what rank %d gave is damaged", b.rank, r)
					}
				}
			}
			for range 20 { // one right after another
				if err := shares(b); err != nil {
					return err
				}
			}
			if _, err := b.Exchange(make([]byte, MaxExchange+1)); err == nil {
				return errors.New("an Exchange of too much")
			}
			if err := errors.Join(b.Barrier(), b.Close(), b.Close()); err != nil {
				return err
			}
			if err, open := <-b.Done(); open {
				return fmt.Errorf("Done: %w", err)
			}
			if err := b.Barrier(); err == nil || !strings.Contains(err.Error(), "after Close") {
				return fmt.Errorf("a Barrier after Close: %v", err)
			}
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%s: %v", maxes, err)
		}
		if f.ended != f.size {
			t.Errorf("%d of %d ranks have finalised", f.ended, f.size)
		}
	}
}

// shares has each rank share a file that holds its number.
func shares(b *bootstrap) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	w.Write(bytes.Repeat([]byte{byte(b.rank)}, b.size))
	w.Close()
	fds, err := b.ShareFD(int(r.Fd()))
	if err != nil {
		return err
	}
	for from, fd := range fds {
		if near := b.Host(core.Rank(from)) == b.Host(b.Rank()); near != (fd >= 0) {
			return fmt.Errorf("rank %d: descriptor %d of rank %d", b.rank, fd, from)
		}
		if fd < 0 {
			continue
		}
		var one [1]byte
		if _, err := unix.Read(fd, one[:]); err != nil || int(one[0]) != from {
			return fmt.Errorf("rank %d: what rank %d shares is %d, %v", b.rank, from, one[0], err)
		}
		unix.Close(fd)
	}
	return nil
}

// What a launcher says is checked.
func TestFaults(t *testing.T) {
	on := func(cmd string, change func(reply string) string) func(int, string, string) string {
		return func(rank int, request, reply string) string {
			if rank == 1 && strings.HasPrefix(request, "cmd="+cmd) {
				return change(reply)
			}
			return reply
		}
	}
	replace := func(from, to string) func(string) string {
		return func(reply string) string { return strings.Replace(reply, from, to, 1) }
	}
	for _, c := range []struct {
		name  string
		twist func(rank int, request, reply string) string
		want  string
	}{
		{"another version", on("init", replace("pmi_version=1", "pmi_version=2")), "another version of PMI"},
		{"refused", on("init", replace("rc=0", "rc=7 msg=no luck today")), "rc=7 no luck today"},
		{"short keys", on("get_maxes", replace("keylen_max=64", "keylen_max=8")), "keylen_max=\"8\""},
		{"short values", on("get_maxes", replace("vallen_max=1024", "vallen_max=1")), "vallen_max=\"1\""},
		{"no limits", on("get_maxes", replace("vallen_max=1024", "")), "vallen_max=\"\""},
		{"long name", on("get_my_kvsname", replace("kvs_1_0", strings.Repeat("k", 900))), "has the name"},
		{"another reply", on("put", replace("put_result", "get_result")), `answers "get_result" where "put_result" belongs`},
		{"cut off", on("get_my_kvsname", func(s string) string { return s[:9] }), "cut off"},
		{"oversized", on("get ", func(string) string { return strings.Repeat("x", maxReply) + "\n" }), "more than 4096 bytes"},
		{"no text", on("get ", replace("value=", "value=\x00")), "is not text"},
		{"nothing", on("get ", func(string) string { return "\n" }), "an empty line"},
		{"not asked for", on("get ", func(s string) string { return s + s + s }), "nobody has asked for"},
		{"missing", func(rank int, request, reply string) string {
			if rank == 1 && strings.Contains(request, "key=aq4.0.0") {
				return "cmd=get_result rc=-1 msg=key_not_found\n"
			}
			return reply
		}, "what rank 0 gave in exchange 4"},
		{"no length", on("get ", replace("value=", "value=x")), "no length"},
		{"too long", on("get ", func(string) string { return "cmd=get_result value=999999999:QUJD\n" }), "no length"},
		{"too much", on("get ", func(string) string { return "cmd=get_result value=2:QUJD\n" }), "damaged"},
		{"not base64", on("get ", func(string) string { return "cmd=get_result value=4:A*JD\n" }), "damaged"},
		{"empty", on("get ", func(string) string { return "cmd=get_result value=\n" }), "0 characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, 2)
			f.twist = c.twist
			over := make(chan bool) // rank 1 has failed: the launcher ends the others
			s := f.rank(0)
			go func() {
				if b, err := joinAt(s, 0, 2, "a"); err == nil {
					b.Exchange([]byte("of rank 0"))
				}
			}()
			go func() { <-over; s.conn.Close() }()
			b, err := joinAt(f.rank(1), 1, 2, "b")
			if err == nil {
				_, err = b.Exchange([]byte("of rank 1"))
			}
			close(over)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A rank that cannot join leaves the launcher without a connection that is open for ever.
func TestCannotJoin(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "launcher")
	launcher, err := net.FileConn(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	t.Setenv(envFD, strconv.Itoa(fds[1]))
	t.Setenv(envRank, "0")
	t.Setenv(envSize, "1")
	t.Cleanup(func() { joined.Store(false) })
	fake := newFake(t, 1)
	fake.twist = func(_ int, request, reply string) string {
		if strings.HasPrefix(request, "cmd=barrier_in") {
			return "cmd=barrier_out rc=-1 msg=no_luck\n"
		}
		return reply
	}
	closed := make(chan struct{})
	go func() {
		fake.serve(0, launcher)
		close(closed)
	}()
	if _, err := Connect(); err == nil || !strings.Contains(err.Error(), "rank 0: ") || !strings.Contains(err.Error(), "no_luck") {
		t.Errorf("Connect: %v", err)
	}
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the connection to the launcher is open")
	}
	launcher.Close()
}

// A launcher that is lost, or raves, ends the job for a rank that does nothing just then.
func TestLost(t *testing.T) {
	for name, say := range map[string]string{"the launcher is lost": "", "not begin with cmd=": "what is this\n"} {
		f := newFake(t, 1)
		ours, theirs := net.Pipe()
		go f.serve(0, ours)
		b, err := joinAt(serverOn(theirs), 0, 1, "a")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(ours, say)
		ours.Close()
		if err := <-b.Done(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Done: %v, want %q", err, name)
		}
		if err := b.Barrier(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Barrier: %v, want %q", err, name)
		}
	}
}

// The word of a rank that ends the job comes to all ranks of its host.
func TestHeard(t *testing.T) {
	f := newFake(t, 4)
	errs := f.job([]string{"a", "a", "a", "b"}, func(b *bootstrap) error {
		switch b.rank {
		case 2:
			b.host.End(7, "enough", 2)
		case 3:
			return nil
		}
		if b.rank != 2 {
			var x *core.ExitError
			if err := <-b.Done(); !errors.As(err, &x) || x.Status != 7 || x.Reason != "enough" {
				return fmt.Errorf("rank %d: Done: %v", b.rank, err)
			}
			if err := b.Barrier(); !errors.As(err, &x) {
				return fmt.Errorf("rank %d: Barrier: %v", b.rank, err)
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// FuzzParse: a line that is read can be written, and is read as the same again.
func FuzzParse(f *testing.F) {
	f.Add("cmd=get_result rc=0 msg=success value=(vector,(0,1,1))")
	f.Add("cmd=barrier_out rc=-1 msg=mpi/pmi2: failed to send")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := parse(line)
		if err != nil {
			return
		}
		again := "cmd=" + r.cmd
		for key, value := range r.attrs {
			again += " " + key + "=" + value
		}
		r2, err := parse(again)
		if err != nil || r2.cmd != r.cmd || fmt.Sprint(r2.attrs) != fmt.Sprint(r.attrs) {
			t.Errorf("%q is %v, and %q is %v, %v", line, r, again, r2, err)
		}
	})
}

// FuzzLauncher: whatever a launcher says, a rank comes to an end.
func FuzzLauncher(f *testing.F) {
	f.Add("cmd=response_to_init pmi_version=1 pmi_subversion=1\ncmd=maxes keylen_max=64 vallen_max=64\ncmd=my_kvsname kvsname=k\ncmd=put_result\ncmd=barrier_out\ncmd=get_result value=2:YQ\n")
	f.Fuzz(func(t *testing.T, says string) {
		ours, theirs := net.Pipe()
		go func() {
			defer ours.Close()
			request := make([]byte, maxRequest)
			for line := range strings.Lines(says) { // one for each request
				if _, err := ours.Read(request); err != nil {
					return
				}
				if _, err := io.WriteString(ours, line); err != nil {
					return
				}
			}
		}()
		if b, err := joinAt(serverOn(theirs), 0, 1, "a"); err == nil {
			b.Exchange([]byte("a"))
		}
		theirs.Close()
	})
}
