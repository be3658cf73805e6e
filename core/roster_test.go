package core

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/settings"
)

// TestRosterOfGroups compares what newRoster makes of cards with what the ranks said.
func TestRosterOfGroups(t *testing.T) {
	const n = 7
	for _, group := range [][]Rank{{0, 1, 2, 3, 4, 5, 6}, {0, 1, 2}, {3, 6}, {5}} {
		cards := make([][]byte, n)
		for r := range cards {
			c := card{memory{(r + 1) << 12, r}, 77, uint64(len(cards) + r), "k\x00v\x00"}
			cards[r] = c.encode()
			if back, rest := decodeCard(append(cards[r], 7)); back != c || !bytes.Equal(rest, []byte{7}) {
				t.Fatalf("%+v became %+v", c, back)
			}
		}
		mine := card{config: 77, group: groupDigest(group, n)}
		for _, r := range group {
			c := card{memory{int(r+1) << 12, 0}, 77, mine.group, ""}
			cards[r] = c.encode()
		}
		x := newRoster(cards, &mine, group, nil)
		if x.fault != "" {
			t.Fatalf("group %v: %s", group, x.fault)
		}
		in := make(map[Rank]bool)
		for _, r := range group {
			in[r] = true
		}
		for r := Rank(-2); r < n+2; r++ {
			if x.connected(r) != in[r] {
				t.Errorf("group %v: rank %d is connected: %v", group, r, !in[r])
			}
			if r < 0 || r >= n {
				continue
			}
			want := 0
			if in[r] {
				want = int(r+1) << 12
			}
			if x.attached[r] != want {
				t.Errorf("group %v: rank %d has a segment of %d bytes, want %d", group, r, x.attached[r], want)
			}
		}
	}
}

func TestGroupDigest(t *testing.T) {
	seen := make(map[uint64][]Rank)
	for _, g := range [][]Rank{{0, 1, 2, 3}, {0}, {1}, {0, 1}, {0, 2}, {0, 1, 2}} {
		d := groupDigest(g, 4)
		if old := seen[d]; old != nil {
			t.Errorf("groups %v and %v have one digest", old, g)
		}
		seen[d] = g
	}
}

// stated is a conduit with two settings, the second of which each rank has for itself.
func stated(string) settings.Table {
	return settings.Table{settings.Int("depth", new(int), 0, 9, ""), settings.Int("own", new(int), 0, 9, "").OwnPerRank()}
}

func init() {
	Register(Driver{Name: "stated", Settings: stated, New: func(string) Conduit { return new(echo) }})
}

// runEach is RunGoroutines with a configuration for each rank.
func runEach(n int, cfg func(Rank) Config, body func(*Job) error) error {
	g := newInProcess(n, nil)
	jobs := make([]*Job, n)
	var ranks sync.WaitGroup
	for r := range n {
		own := cfg(Rank(r)).withDefaults()
		ranks.Go(func() { g.runGoroutine(g.ranks[r], &own, body, &jobs[r]) })
	}
	ranks.Wait()
	if g.ended != nil {
		release(jobs)
	}
	return g.result()
}

// TestSettingsDisagree has one rank given another value of a setting than the others.
func TestSettingsDisagree(t *testing.T) {
	for key, want := range map[string]string{
		"own":   "",
		"depth": "; all ranks must have the same",
		"other": "unknown; there are depth, own",
	} {
		said := make([]string, 3)
		own := func(r Rank) Config {
			cfg := Config{Conduit: "stated", Segment: "0"}
			if r == 1 {
				cfg.Settings = map[string]string{key: "5"}
			}
			return cfg
		}
		err := runEach(3, own, func(j *Job) error {
			_, err := j.Attach(AttachSpec{Group: []Rank{0, 1, 2}})
			if err != nil {
				said[j.Rank()] = err.Error()
			}
			return err
		})
		all := strings.Join(said, "\n")
		if (err == nil) != (want == "") || !strings.Contains(all, want) || want != "" && !strings.Contains(all, "stated: setting "+key+"=") {
			t.Errorf("%s: %v, %q; want %q", key, err, all, want)
		}
	}
}

// TestRosterFaults has ranks that share a roster disagree: whoever notices names itself.
func TestRosterFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		debug map[Rank]bool
		group map[Rank][]Rank
		want  string
	}{
		{"configuration", map[Rank]bool{2: true}, nil, "attaches with another conduit, profile or configuration"},
		{"group", nil, map[Rank][]Rank{0: {0, 1}, 1: {0, 1}, 2: {2}, 3: {2, 3}}, "which is in the group, attaches with another group"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own := func(r Rank) Config { return Config{Conduit: "echo", Segment: "0", Debug: tc.debug[r]} }
			err := runEach(4, own, func(j *Job) error {
				_, err := j.Attach(AttachSpec{Group: tc.group[j.Rank()]})
				if err == nil {
					return j.boot.Barrier() // until the others have noticed
				}
				var x *ExitError
				if errors.As(err, &x) {
					return err // another has noticed first
				}
				if own := fmt.Sprintf("core: rank %d: rank ", j.Rank()); !strings.HasPrefix(err.Error(), own) {
					t.Errorf("the error %q does not begin with %q", err, own)
				}
				return err
			})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the job ended with %v", err)
			}
		})
	}
}
