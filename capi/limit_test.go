//go:build cgo

package main

import "testing"

func TestParseLimit(t *testing.T) {
	const memory = 1 << 30
	for text, want := range map[string]uint64{
		"512MB":     512 << 20,
		"512MB/P":   512 << 20,
		"512MB/H":   128 << 20,
		"1.5GB":     3 << 29,
		"0.5":       memory / 2,
		"0.5/H":     memory / 8,
		"3/8":       memory / 8 * 3,
		"3/8/P":     memory / 8 * 3,
		"1/4/H":     memory / 16,
		"65536":     65536,
		"":          0, // refused, as all below
		"/H":        0,
		"much":      0,
		"-5":        0,
		"3/0":       0,
		"9/8":       0,
		"4095":      0, // less than a page
		"8192/H":    0,
		"512MB/X":   0,
		"nan":       0,
		"512MB/P/H": 0,
	} {
		n, err := parseLimit(text, memory, 4)
		if (err == nil) != (want != 0) || err == nil && n != want {
			t.Errorf("%q is %d, %v; want %d", text, n, err, want)
		}
	}
}
