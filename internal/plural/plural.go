// Package plural puts numbers of things into words, in English.
package plural

import (
	"fmt"
	"strings"
)

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

// List returns the word for the items and then these, joined by commas: a few of many, e.g. "rank 4" or "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more".
func List[T any](items []T, one, many string) string {
	const most = 8
	var names []string
	for _, item := range items[:min(len(items), most)] {
		names = append(names, fmt.Sprint(item))
	}
	s := Word(len(items), one, many) + " " + strings.Join(names, ", ")
	if more := len(items) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
