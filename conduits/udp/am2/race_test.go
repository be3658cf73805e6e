//go:build race

package am2_test

// raceEnabled tells that everything takes ten times as long.
const raceEnabled = true
