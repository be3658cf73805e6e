//go:build !race

package am2_test

const raceEnabled = false
