#!/bin/sh
# Runs every fuzz target of the module for the time, or the number of runs (1000x), given.
set -eu

time=${1:-10s}
grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file func; do
	pkg=${file%/*} target=${func#func }
	echo "$pkg $target"
	"${GO:-go}" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"
done
