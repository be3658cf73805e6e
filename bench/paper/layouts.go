package paper

import (
	"os"
	"path/filepath"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// layout is a machine with the numbers of ranks that it is measured at.
type layout struct {
	*Setting
	name    string // in figures
	profile *hardware.Profile
	ranks   []int
	most    int // ranks of schedules that run without them; 0: none do
}

// scaleMachine is the built-in machine for large jobs.
const scaleMachine = "scale"

// flatScale is the same machine with the paper's layout. Two things differ: the flags, and that all
// connect at the start. With the latter every rank is a sender whose flags are looked at, as in the
// paper.
const flatScale = `about the machine for large jobs with the layout of the paper
base scale
layout.flags   single word assumed for comparison
layout.connect start  word assumed for comparison
`

// layouts returns the setting's machine, the one that is made for large jobs, and the latter
// with the paper's layout, whose file lies in dir.
func layouts(s *Setting, dir string) (list []layout, err error) {
	few, many, most := powers(2, 32), powers(2, 128), 0
	if s.Full {
		few, many, most = powers(2, 512), append(powers(2, 1<<10), 1<<12, 1<<14, 1<<16), 1<<24
	}
	flat := filepath.Join(dir, "flat"+machine.Suffix)
	if err := os.WriteFile(flat, []byte(flatScale), 0o666); err != nil {
		return nil, err
	}
	for _, l := range []layout{
		{Setting: s, name: s.Machine.Name, ranks: few},
		{Setting: &Setting{Profile: scaleMachine}, name: "scale, summary flags", ranks: many, most: most},
		{Setting: &Setting{Profile: flat}, name: "scale, flat flags, connected at the start", ranks: few},
	} {
		if err := l.load(s); err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// load reads the machine. The rest of the setting is s's.
func (l *layout) load(s *Setting) error {
	loaded, err := SCI.Setting(l.Profile)
	if err != nil {
		return err
	}
	loaded.Seed, loaded.Full, loaded.Progress = s.Seed, s.Full, s.Progress
	l.Setting = loaded
	l.profile, err = hardware.NewProfile(loaded.Machine)
	return err
}

// powers returns the powers of two from low to high.
func powers(low, high int) []int {
	var list []int
	for n := low; n <= high; n *= 2 {
		list = append(list, n)
	}
	return list
}

// words returns how many words of flags a receiver looks through to find a message in a
// collective of so many ranks with ⌈log₂ P⌉ rounds: one word for each sender that has
// connected, or with summary flags those of one bank, and a byte for each bank.
func (l *layout) words(ranks int) float64 {
	senders := ranks
	if l.profile.Layout.Connect == "first-use" {
		senders = cost.Rounds(ranks, 2) // only partners send
	}
	if l.profile.Layout.Flags != "summary" {
		return float64(senders)
	}
	banks := (senders + l.profile.Layout.Bank - 1) / l.profile.Layout.Bank
	return float64((banks+3)/4 + min(senders, l.profile.Layout.Bank))
}

// formula returns what a collective would take without contention, if every rank were as
// near as the neighbour: ⌈log₂ P⌉·(a + b·words(P)). What a scan costs per word, b, is the
// machine's constant, and a is what it takes two ranks besides.
func (l *layout) formula(two vtime.Time) cost.Formula {
	b := float64(l.profile.Host.Scan)
	return cost.Formula{A: float64(two) - b*l.words(2), B: b, Scan: l.words}
}
