//go:build !race

package am2_test

const raceEnabled = false

const defaultSeeds = 3
