package spawner

import (
	"encoding/hex"
	"time"
)

// The agents of a job form a tree, whose root is the Job: none has streams to more agents than the width. An agent
// starts those below it as the Job does, and is to them what the Job is to it, but it judges nothing.

// DefaultTreeWidth is how many agents the Job and each agent start at most, if a Launch does not say.
const DefaultTreeWidth = 32

// start is how the agent of a host is started.
type start struct {
	Host int    // its number
	Name string // that the Job knows it by
	Argv texts  // of the process that does it; the first word is looked up in PATH
	Push bool   // that process is to be sent the agent's program
}

// branch is an agent, or the Job, with all that is below it. It is what an agent is told first.
type branch struct {
	start                     // of the agent; not the Job's
	Below             []start // in the order in which they are split
	Job               string  // its name
	Width             int
	Pulse             time.Duration // how often each end of a trunk is heard
	Limit, Left       time.Duration // how long all agents may take to start, and what is left of that
	Launcher, Missing string        // the name of the launcher, and how to get the program that it needs
}

// split returns the branches that b starts: at most Width, of nearly equal size.
func (b *branch) split() (all []branch) {
	n := min(b.Width, len(b.Below))
	for i := range n {
		part := b.Below[len(b.Below)*i/n : len(b.Below)*(i+1)/n]
		one := *b
		one.start, one.Below = part[0], part[1:]
		all = append(all, one)
	}
	return all
}

// tree returns the branch of the Job, which has all agents below it.
func (s *Spec) tree() (*branch, error) {
	l, below, err := s.starts()
	if err != nil {
		return nil, err
	}
	limit := s.Launch.timeout()
	return &branch{
		Below: below, Job: hex.EncodeToString(fresh(8)), Width: s.Launch.width(),
		Pulse: s.Launch.silence() / beats, Limit: limit, Left: limit, Launcher: l.Name, Missing: l.Missing,
	}, nil
}
