package core

import (
	"errors"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// heavy is a conduit that takes a MB for each pair of ranks.
type heavy struct{ echo }

func init() {
	Register(Driver{Name: "heavy", New: func(string) Conduit { return new(heavy) }})
}

func (*heavy) Plan(a *Attachment) (Plan, error) { return Plan{Footprint: len(a.Group) << 20}, nil }

// withMemory has the host have so many bytes left, until the test ends.
func withMemory(t *testing.T, bytes uint64, err error) {
	t.Cleanup(func() { available = shm.Available })
	available = func() (uint64, error) { return bytes, err }
}

func TestMemoryOfHost(t *testing.T) {
	const mb = 1 << 20
	groups := map[Rank][]Rank{0: {0}, 1: {1, 2, 3}, 2: {1, 2, 3}, 3: {1, 2, 3}}
	for _, tc := range []struct {
		name    string
		ranks   int
		have    uint64 // MB
		segment string
		groups  map[Rank][]Rank
		want    []string // in the error; nil: it fits
	}{
		{"just fits", 4, 4*10 + 16, "10MB", nil, nil},
		{"just does not", 4, 4*10 + 15, "10MB", nil,
			[]string{"this host's 4 ranks need 40 MB", "conduit heavy another 16 MB", "55 MB are available", "by --segment (AQUEDUCT_SEGMENT)"}},
		{"not for its conduit alone", 4, 15, "0", nil,
			[]string{"need 0 MB", "another 16 MB", "15 MB are available", "start fewer ranks on this host, or choose another conduit"}},
		{"one segment is enough", 4, 100, "101MB", nil, []string{"a segment of 101 MB", "100 MB are available", "by --segment (AQUEDUCT_SEGMENT)"}},
		{"smaller groups, less memory", 4, 1 + 9, "0", groups, nil},
		{"but this much", 4, 1 + 8, "0", groups, []string{"another 10 MB"}},
		{"a percentage leaves room for the conduit", 4, 4 * 100, "100%", nil, nil},
		{"if there is any", 4, 8, "50%", nil, []string{"need 0 MB", "start fewer ranks"}},
		{"the default counts", 1, 64, "", nil, []string{"need 64 MB", "another 1 MB"}},
		{"and fits", 1, 65, "", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			withMemory(t, tc.have*mb, nil)
			err := RunGoroutines(tc.ranks, Config{Conduit: "heavy", Segment: tc.segment}, func(j *Job) error {
				ep, err := j.Attach(AttachSpec{Group: tc.groups[j.Rank()]})
				if err != nil {
					return err
				}
				if tc.segment == "100%" && len(ep.Segment()) != (100-4)*mb {
					t.Errorf("the segment has %d bytes", len(ep.Segment()))
				}
				return &ExitError{77, "it fits"} // echo has no barrier
			})
			if tc.want == nil && StatusOf(err) != 77 {
				t.Errorf("refused: %v", err)
			}
			for _, w := range tc.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("error %v does not say %q", err, w)
				}
			}
		})
	}
}

func TestMemoryOfHostUnknown(t *testing.T) {
	for _, segment := range []string{"4096", ""} {
		withMemory(t, 0, errors.New("nobody knows"))
		err := RunGoroutines(1, Config{Conduit: "heavy", Segment: segment}, func(j *Job) error {
			_, err := j.Attach(AttachSpec{})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "available memory: nobody knows") {
			t.Errorf("segment %q: %v", segment, err)
		}
	}
}

// massless is heavy under a model, without memory for segments.
type massless struct{ heavy }

func init() {
	Register(Driver{Name: "massless", Models: []string{"default"}, New: func(string) Conduit { return new(massless) }})
}

func (*massless) AttachSegment(*Attachment) ([]byte, error) { return nil, nil }
func (*massless) Sleeper() Sleeper                          { return nil }

// TestMemoryOfModel has ranks in virtual time ask for segments: all together may be larger
// than memory.
func TestMemoryOfModel(t *testing.T) {
	const mb, tb = 1 << 20, 1 << 40
	for _, tc := range []struct {
		name    string
		have    uint64
		segment string
		want    []string // in the error; nil: it fits
	}{
		{"segments beyond memory", 100 * mb, "99MB", nil},
		{"the default", 16 * mb, "", nil},
		{"one beyond memory", 100 * mb, "101MB", []string{"a segment of 101 MB", "100 MB are available", "by --segment (AQUEDUCT_SEGMENT)"}},
		{"conduits beyond memory", 15 * mb, "1MB", []string{"another 16 MB", "15 MB are available", "another conduit or profile"}},
		{"all addresses", 20 * tb, "16TB", nil},
		{"more addresses than there are", 20 * tb, "17TB", []string{"the segments of 4 modelled ranks are 71303168 MB of address space", "by --segment (AQUEDUCT_SEGMENT)"}},
		{"a percentage is of the rank's share", 8 << 30, "100%", nil},
		{"which is the same on every host", 24 << 30, "100%", nil},
		{"but for a small one", 400 * mb, "100%", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			withMemory(t, tc.have, nil)
			looks := 0
			have := available
			available = func() (uint64, error) { looks++; return have() }
			err := RunModel(4, Config{Conduit: "massless", Segment: tc.segment}, func(j *Job) error {
				ep, err := j.Attach(AttachSpec{})
				if err != nil {
					return err
				}
				if size := ep.SegmentSize(3); tc.segment == "100%" && uint64(size) != min(tc.have, 1<<30) {
					t.Errorf("the segment has %d bytes", size)
				}
				return &ExitError{77, "it fits"}
			})
			if tc.want == nil && StatusOf(err) != 77 {
				t.Errorf("refused: %v", err)
			}
			for _, w := range tc.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("error %v does not say %q", err, w)
				}
			}
			if looks != 1 {
				t.Errorf("the ranks of one process looked %d times how much memory there is", looks)
			}
		})
	}
}

// TestMaxSegment asks for the largest segment, and attaches it.
func TestMaxSegment(t *testing.T) {
	const mb = 1 << 20
	run := map[string]func(Config, func(*Job) error) error{
		"heavy":    func(cfg Config, body func(*Job) error) error { return RunGoroutines(4, cfg, body) },
		"massless": func(cfg Config, body func(*Job) error) error { return RunModel(4, cfg, body) },
	}
	for _, tc := range []struct {
		name, conduit string
		have          uint64 // bytes
		segment       string // what the launcher says
		want          int
	}{
		{"the share that the conduit leaves, less a reserve", "heavy", 4 * 104 * mb, "", 85 * mb},
		{"whole pages", "heavy", 4 * (104*mb + 100), "", 85 * mb},
		{"nothing is left", "heavy", 16 * mb, "", 0},
		{"the launcher's word", "heavy", 400 * mb, "3MB", 3 * mb},
		{"in virtual time, as much as memory", "massless", 100 * mb, "", 85 * mb},
		{"the same on every host that has more", "massless", 1 << 60, "", shm.RoundDown(1 << 30 * 85 / 100)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			withMemory(t, tc.have, nil)
			err := run[tc.conduit](Config{Conduit: tc.conduit, Segment: tc.segment, SegmentWins: true}, func(j *Job) error {
				n, err := j.MaxSegment(AttachSpec{})
				if err != nil || n < tc.want-shm.PageSize || n > tc.want {
					t.Errorf("rank %d: at most %d bytes: %v; want %d", j.Rank(), n, err, tc.want)
				}
				if all, err := j.MaxSegmentOfAll(AttachSpec{}); all != n || err != nil {
					t.Errorf("rank %d: everywhere at most %d bytes: %v; want %d", j.Rank(), all, err, n)
				}
				ep, err := j.Attach(AttachSpec{Segment: itoa(n)})
				if err != nil {
					return err
				}
				if got := ep.SegmentSize(3); got != n {
					t.Errorf("a segment of %d bytes, want %d", got, n)
				}
				return &ExitError{77, "it fits"} // echo has no barrier
			})
			if StatusOf(err) != 77 {
				t.Error(err)
			}
		})
	}
}

// TestMaxSegmentOfAllMismatch has a rank attach while others ask.
func TestMaxSegmentOfAllMismatch(t *testing.T) {
	err := RunGoroutines(2, Config{Conduit: "heavy"}, func(j *Job) error {
		if j.Rank() == 0 {
			_, err := j.Attach(AttachSpec{Segment: "0"})
			return err
		}
		_, err := j.MaxSegmentOfAll(AttachSpec{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "is in another call") {
		t.Errorf("the job ended with %v", err)
	}
}
