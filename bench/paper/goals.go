package paper

import (
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// goal returns what was published of this machine, not of its base, under a name, or nil.
func (s *Setting) goal(name string) *machine.Goal {
	if g := ownFit(s.Machine, name); g != nil {
		return g
	}
	return s.Machine.Prediction(name)
}

// Goals returns what was published of this machine, not of its base.
func (s *Setting) Goals() (all []*machine.Goal) {
	for _, goals := range [...][]machine.Goal{s.Machine.Fits, s.Machine.Predictions} {
		for i := range goals {
			if g := s.goal(goals[i].Name); g == &goals[i] {
				all = append(all, g)
			}
		}
	}
	return all
}

// publishes reports whether the machine's own file has what the paper measured. Claims in microseconds,
// about the steps of a message, and about reads against writes are of such a machine alone.
func (s *Setting) publishes() bool { return s.goal("am-short") != nil }

// published returns the published numbers of the given names as marks of a figure, each at
// its place; those that the machine's file does not have are left out.
func (s *Setting) published(x float64, names ...string) []plot.Series {
	var marks []plot.Series
	for _, name := range names {
		if g := s.goal(name); g != nil {
			marks = append(marks, plot.Series{
				Name: "published: " + inWords(name), Kind: plot.Published, Points: []plot.Point{{X: x, Y: g.Number()}},
			})
		}
	}
	return marks
}

// published numbers are called by these words in legends, by what their names begin with.
var publishedWords = []struct{ prefix, words string }{
	{"am2-bandwidth", "bandwidth"}, {"am2-dma-limit", "limit of the DMA"}, {"am2-one-way", "one way"},
	{"gm-short", "half round trip"}, {"gm-one-way", "one way"}, {"gm-two-way", "both ways"},
	{"grim-scan", "scan of the channels"}, {"grim-knee", "injection slows down"},
	{"itb-overhead", "modified less original"}, {"itb-cost", "re-injection"},
	{"raw-pio", "raw stores, 80 bytes"}, {"read-over-write", "loads over stores"},
	{"am-short-mpi", "Short over ScaMPI"}, {"am-short", "Short"},
}

// inWords returns the words for a published number. A name without words stands for itself, which TestLegends refuses.
func inWords(name string) string {
	for _, w := range publishedWords {
		if strings.HasPrefix(name, w.prefix) {
			return w.words
		}
	}
	return name
}

// reproduce is the note under a figure.
func (s *Setting) reproduce(e string) string {
	command := "aqbench paper " + e + " --machine " + s.Machine.Name
	if s.Seed != 0 {
		command += fmt.Sprint(" --seed ", s.Seed)
	}
	if s.Full {
		command += " --full"
	}
	return "Model of the machine " + s.Machine.Name + ", virtual time. Reproduce: " + command
}
