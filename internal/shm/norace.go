//go:build !race

package shm

// RaceEnabled reports whether this build has the race detector.
const RaceEnabled = false
