package bench

// Placement is how far apart two CPUs are, told by the round trip of a flag between them.
// A hypervisor may place its virtual CPUs anew within seconds, and every shared-memory
// figure scales with it: compare figures of one placement only.
type Placement string

// The groups. The round trips seen on virtual machines cluster: 53–82 ns (hyperthreads or
// cores of one cache), 117–148 and 270–350 ns (within a socket, by CPU model), 508–612 ns
// (across).
const (
	Near    Placement = "near" // below 100 ns
	Mid     Placement = "mid"  // below 400 ns
	Far     Placement = "far"
	Unknown Placement = "unknown" // not measured
)

// PlacementOf returns the group of a flag round trip in nanoseconds.
func PlacementOf(ns float64) Placement {
	switch {
	case !(ns > 0):
		return Unknown
	case ns < 100:
		return Near
	case ns < 400:
		return Mid
	}
	return Far
}
