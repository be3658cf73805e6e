// Package plural puts numbers of things into words, in English.
package plural

import "fmt"

// Word returns the word that goes with n: one if n is 1, else many.
func Word[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count returns n and the word that goes with it, e.g. "1 rank" or "3 ranks".
func Count[N int | uint64](n N, one, many string) string {
	return fmt.Sprintf("%d %s", n, Word(n, one, many))
}
