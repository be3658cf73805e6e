package lanai

import (
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// SRAM is the memory of a NIC, as a budget that regions are taken from. It is filled when the control program is
// loaded, and no region is ever given back.
type SRAM struct {
	size    machine.Bytes
	used    machine.Bytes
	regions []Region
}

// Region is a part of the SRAM.
type Region struct {
	Name string
	Size machine.Bytes
}

// align is what regions begin at a multiple of: a word of the widest memory.
const align = 8

// NewSRAM returns an empty memory.
func NewSRAM(size machine.Bytes) *SRAM { return &SRAM{size: size} }

// Reserve takes a region whose contents are not modelled, such as code and tables. The region is rounded up to 8
// B. It fails if the memory has less left; the error names what has been taken already.
func (s *SRAM) Reserve(name string, size machine.Bytes) error {
	if size < 0 {
		return fmt.Errorf("lanai: SRAM: %s: a region of %d B", name, size)
	}
	left := s.size - s.used
	if size > left { // before rounding, which could overflow
		return s.tooLarge(name, size)
	}
	size = (size + align - 1) &^ (align - 1)
	if size > left {
		return s.tooLarge(name, size)
	}
	s.used += size
	s.regions = append(s.regions, Region{name, size})
	return nil
}

func (s *SRAM) tooLarge(name string, size machine.Bytes) error {
	return fmt.Errorf("lanai: SRAM: %s needs %d B, and %d B of %d B are left; %s: use fewer or smaller buffers, tables for fewer nodes, or a NIC with more memory",
		name, size, s.size-s.used, s.size, s.Report())
}

// Alloc takes a region and returns its bytes, which are zero.
func (s *SRAM) Alloc(name string, size machine.Bytes) ([]byte, error) {
	if err := s.Reserve(name, size); err != nil {
		return nil, err
	}
	return make([]byte, size), nil
}

// Size returns how large the memory is.
func (s *SRAM) Size() machine.Bytes { return s.size }

// Used returns how much regions have.
func (s *SRAM) Used() machine.Bytes { return s.used }

// Left returns what regions can still have.
func (s *SRAM) Left() machine.Bytes { return s.size - s.used }

// Regions returns the regions in the order in which they were taken. The slice is the memory's own.
func (s *SRAM) Regions() []Region { return s.regions }

// Report says in a line who has what.
func (s *SRAM) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d B used", s.used, s.size)
	sep := ": "
	for _, r := range s.regions {
		fmt.Fprintf(&b, "%s%s %d", sep, r.Name, r.Size)
		sep = ", "
	}
	return b.String()
}
