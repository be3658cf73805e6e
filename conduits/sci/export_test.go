package sci

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Asleep reports whether c has been told that the rank at a position of its group goes to
// sleep, or sleeps, and has not rung for it yet.
func Asleep(c core.Conduit, position int) bool {
	return shm.Load32(&c.(node).common().asleep[position]) != 0
}
