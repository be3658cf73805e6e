//go:build race

package am2_test

// raceEnabled tells that everything takes ten times as long.
const raceEnabled = true

// defaultSeeds is 1, since the detector has little to find in a test's one goroutine, whatever the seed.
const defaultSeeds = 1
