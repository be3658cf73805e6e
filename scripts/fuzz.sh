#!/bin/sh
# Runs every fuzz target of the module for the time given.
set -eu

time=${1:-10s}
for pkg in $("${GO:-go}" list ./...); do
	for target in $("${GO:-go}" test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "$pkg $target"
		"${GO:-go}" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"
	done
done
