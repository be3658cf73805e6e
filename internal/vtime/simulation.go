package vtime

import "errors"

// Simulation is a loop that drives itself: its clock is at once at the next event. There is no rank
// and no goroutine; events fire on the stack of whoever calls Run or RunUntil. A panic of an event
// is the caller's.
type Simulation struct{ Loop }

// NewSimulation returns a simulation at time 0. The seed decides all that is random in it.
func NewSimulation(seed uint64) *Simulation { return &Simulation{Loop{seed: seed}} }

// Run fires events until none is left, and closes the simulation: it is for the last events. A program that goes on
// afterwards calls RunUntil instead. Run of a simulation that is closed is an error.
func (s *Simulation) Run() error {
	if s.over && s.cause == nil {
		return errors.New("vtime: Run of a simulation that is closed: Run closes it; call RunUntil to go on afterwards")
	}
	s.fireUntil(end)
	return s.Close()
}

// RunUntil fires all events up to time t, those at t included, and brings the clock to t. A t that
// has passed leaves all as it is.
func (s *Simulation) RunUntil(t Time) {
	s.fireUntil(t)
	if !s.over {
		s.now = max(s.now, t)
	}
}

// Close ends the simulation, and its trace, and returns an error if that could not be written. No
// event fires any more, and RunUntil leaves all as it is. Run has done it already.
func (s *Simulation) Close() error { return s.close() }
