package nbrhd

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
)

// meeting is where the ranks of a job exchange, as if they were processes.
type meeting struct {
	mu      sync.Mutex
	all     sync.Cond
	in, out [][]byte
	arrived int
	calls   int
}

// rank is one's bootstrap, of which confirm needs no more. swap, if not nil, gives it other descriptors than it was passed.
type rank struct {
	core.Bootstrap
	self core.Rank
	m    *meeting
	swap func(fds []int)
}

func (r rank) Rank() core.Rank { return r.self }

func (r rank) Exchange(b []byte) ([][]byte, error) {
	m := r.m
	m.mu.Lock()
	defer m.mu.Unlock()
	call := m.calls
	m.in[r.self] = slices.Clone(b)
	if m.arrived++; m.arrived == len(m.in) {
		m.out, m.in = m.in, make([][]byte, len(m.in))
		m.arrived = 0
		m.calls++
		m.all.Broadcast()
	}
	for m.calls == call {
		m.all.Wait()
	}
	return m.out, nil
}

func (r rank) ShareFD(fd int) ([]int, error) {
	all, err := r.Exchange([]byte(strconv.Itoa(fd)))
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, b := range all {
		theirs, _ := strconv.Atoi(string(b))
		own, err := unix.FcntlInt(uintptr(theirs), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		fds = append(fds, own)
	}
	if r.swap != nil {
		r.swap(fds)
	}
	_, err = r.Exchange(nil) // nobody closes its own before all have a duplicate
	return fds, err
}

// TestConfirm has ranks 0 to 2 of four on a host of which something is wrong, or nothing.
func TestConfirm(t *testing.T) {
	for _, x := range []struct {
		name string
		swap func(fds []int) // of rank 1
		id   string          // of rank 1
		why  string          // contained in what rank 2 hears; "": all are near
	}{
		{"good", nil, "here", ""},
		{"another host", nil, "there", `"there"`},
		{"no descriptor", func(fds []int) { unix.Close(fds[2]); fds[2] = -1 }, "here", "rank 1 cannot open memory of rank 2"},
		{"other memory", func(fds []int) { fds[0], fds[2] = fds[2], fds[0] }, "here", "rank 1 cannot open memory of rank 0"},
		{"memory that could shrink", func(fds []int) {
			unix.Close(fds[0])
			fds[0], _ = unix.MemfdCreate("probe", unix.MFD_CLOEXEC)
			_ = unix.Ftruncate(fds[0], 4096)
		}, "here", "rank 1 cannot open memory of rank 0"},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := &meeting{in: make([][]byte, 4)}
			m.all.L = &m.mu
			confirmed, reasons := make([][]core.Rank, 4), make([]string, 4)
			var ranks sync.WaitGroup
			for i := range 4 {
				ranks.Go(func() {
					boot, id, candidates := rank{self: core.Rank(i), m: m}, "here", []core.Rank{0, 1, 2}
					switch i {
					case 1:
						boot.swap, id = x.swap, x.id
					case 3:
						id, candidates = "elsewhere", []core.Rank{3}
					}
					var err error
					if confirmed[i], reasons[i], err = confirm(boot, candidates, id); err != nil {
						t.Error(err)
					}
				})
			}
			ranks.Wait()
			for r, near := range confirmed {
				want := []core.Rank{0, 1, 2}
				if r == 3 || x.why != "" {
					want = []core.Rank{core.Rank(r)}
				}
				if !slices.Equal(near, want) {
					t.Errorf("near rank %d are %v, want %v; because %q", r, near, want, reasons[r])
				}
			}
			if x.why == "" && reasons[2] != "" || !strings.Contains(reasons[2], x.why) {
				t.Errorf("the reason is %q, want %q", reasons[2], x.why)
			}
		})
	}
}
