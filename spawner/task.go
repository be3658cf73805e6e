package spawner

import (
	"encoding/json"
	"os"
	"strings"
	"time"
)

// task is what all agents are to do: a part of a Spec, and what the Job adds.
type task struct {
	N                         int
	Placement                 placement
	Programs                  []programTask
	Env, Passed, Prefix       texts // Passed: of the launcher's environment
	Conduit, Profile, Segment string
	Bind                      Binding
	ReportBindings            bool
	Grace                     time.Duration
	LineWait                  time.Duration // how long an unfinished line is held back
	Input                     bool          // rank 0 has standard input
}

// programTask is a Program of a task.
type programTask struct {
	N         int
	Prog, Dir []byte // need not be UTF-8, as a string of JSON must
	Args, Env texts
}

// texts are strings that JSON carries as they are, also those that are not UTF-8.
type texts []string

// MarshalJSON implements json.Marshaler.
func (t texts) MarshalJSON() ([]byte, error) {
	all := make([][]byte, len(t))
	for i, text := range t {
		all[i] = []byte(text)
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	var all [][]byte
	err := json.Unmarshal(b, &all)
	*t = nil
	for _, text := range all {
		*t = append(*t, string(text))
	}
	return err
}

// task returns what agents are to do.
func (s *Spec) task() (*task, error) {
	all, err := s.programs()
	if err != nil {
		return nil, err
	}
	var programs []programTask
	for _, p := range all {
		programs = append(programs, programTask{N: p.N, Prog: []byte(p.Prog), Dir: []byte(p.Dir), Args: p.Args, Env: p.Env})
	}
	var passed []string
	for _, setting := range mergeEnv(os.Environ()) { // which leaves out who this process is itself
		if strings.HasPrefix(setting, "AQUEDUCT_") {
			passed = append(passed, setting)
		}
	}
	return &task{
		N: s.N, Placement: s.HostOf, Programs: programs,
		Env: s.Env, Passed: passed, Prefix: s.Prefix, Conduit: s.Conduit, Profile: s.Profile, Segment: s.Segment,
		Bind: s.Bind, ReportBindings: s.ReportBindings, Grace: s.Grace, LineWait: lineWait, Input: s.Stdin != nil,
	}, nil
}
