package paper

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// clock is that of someone who is timed, a job's rank or a raw node.
type clock interface {
	Now() vtime.Time
	LastSetUp() vtime.Time // when anyone in the simulation last set something up
}

// window is the part of a simulation that is timed: from when the first of those who take part
// begins to when the last one ends. The zero value is one in which nobody has begun.
type window struct {
	from  vtime.Time
	setUp vtime.Time // when something was last set up before the end
	begun int        // by how many
	ended int
}

// begin says that someone is timed from now on.
func (w *window) begin(c clock) {
	if w.begun == 0 || c.Now() < w.from {
		w.from = c.Now()
	}
	w.begun++
}

// end says that one who has begun is timed no longer.
func (w *window) end(c clock) {
	w.setUp = max(w.setUp, c.LastSetUp())
	w.ended++
}

// check is asked after the simulation. It fails if anybody set something up in the window: a
// connection at the first use takes as long as a hundred messages, so that it would be measured and
// not they. It fails, too, if there was no window.
func (w *window) check() error {
	switch {
	case w.begun == 0 || w.ended < w.begun:
		return errors.New("nothing was timed")
	case w.setUp > w.from:
		return fmt.Errorf("something was set up at %v, and what is timed from %v on has to find every connection made", w.setUp, w.from)
	}
	return nil
}
