package hw

import (
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Bus holds the constants of an I/O bus. The bus of one host is a vtime.Resource besides, which is
// used for as long as a burst takes.
type Bus struct {
	Clock machine.Period `machine:"clock"`
	Width int            `machine:"width"` // bytes per cycle
	Write int            `machine:"write"` // cycles of a write burst besides its data
	Read  int            `machine:"read"`  // cycles of a read burst besides its data
}

// WriteTime returns how long a write burst of n bytes takes.
func (b *Bus) WriteTime(n int) vtime.Time { return b.burst(b.Write, n) }

// ReadTime returns how long a read burst of n bytes takes.
func (b *Bus) ReadTime(n int) vtime.Time { return b.burst(b.Read, n) }

func (b *Bus) burst(cycles, n int) vtime.Time {
	return b.Clock.Time(cycles + (n+b.Width-1)/b.Width)
}
