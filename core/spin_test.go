package core

import "testing"

// spun is an echo that can spin, and counts.
type spun struct {
	echo
	spins, polls int
}

func init() {
	Register(Driver{Name: "spun", New: func(string) Conduit { return new(spun) }})
}

func (s *spun) Powers() Powers {
	p := s.echo.Powers()
	p.Spinner = s
	return p
}

func (s *spun) Spin(budget int) int { s.spins++; return s.echo.Poll(budget) }
func (s *spun) Poll(budget int) int { s.polls++; return s.echo.Poll(budget) }

// TestSpin waits over a conduit that spins: while the wait polls at full speed it spins instead. A silent
// wait, and one where ranks outnumber CPUs, does not.
func TestSpin(t *testing.T) {
	const most = hotPolls / spinPolls
	for _, tc := range []struct {
		name         string
		held         int // polls and spins in vain
		silent, slow bool
		spins, polls int
	}{
		{name: "soon", held: 3, spins: 4},
		{name: "late", held: most + 5, spins: most, polls: 6},
		{name: "silent", held: 3, silent: true, polls: 4},
		{name: "crowded", held: 3, slow: true, polls: 4},
	} {
		got := 0
		err := aloneOver(t, "spun", Config{Threads: Single}, []HandlerEntry{
			{Index: 130, Func: func(*Token, []uint32, []byte) { got++ }},
		}, func(ep *Endpoint) error {
			if ep.idle.hot = hotPolls; tc.slow {
				ep.idle.hot = 1
			}
			if err := ep.RequestShort(0, 130); err != nil {
				return err
			}
			s := ep.conduit.(*spun)
			s.held, s.spins, s.polls = tc.held, 0, 0
			wait := ep.WaitUntil
			if tc.silent {
				wait = ep.WaitSilent
			}
			if err := wait(func() bool { return got > 0 }); err != nil {
				return err
			}
			if s.spins != tc.spins || s.polls != tc.polls {
				t.Errorf("%s: %d spins and %d polls, want %d and %d", tc.name, s.spins, s.polls, tc.spins, tc.polls)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
