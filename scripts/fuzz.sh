#!/bin/sh
# Runs every fuzz target of the module for the time, or the number of runs (1000x), given. Each package
# is compiled once. As many targets run at once as there are CPUs, each in one process; the last line of a
# target is printed when it ends. All lines are of one that fails, which leaves its input in testdata/fuzz of its package.
#
# By default Go spends up to a minute on making each input smaller that reaches something new, and counts
# that as runs. A hundred attempts leave the runs to what is new.
set -eu

export time="${1:-10s}" GO="${GO:-go}"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
cache=$("$GO" env GOCACHE)/fuzz
export bin cache

grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u >"$bin/packages"
while read -r dir; do
	pkg=$("$GO" list "$dir")
	mkdir -p "$bin/$pkg"
	"$GO" test -c -vet=off -fuzz . -o "$bin/$pkg/fuzz" "$dir"
	sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\).*|$dir $pkg \1|p" "$dir"/*_test.go >>"$bin/targets"
done <"$bin/packages"

xargs -n 3 -P "$(getconf _NPROCESSORS_ONLN)" sh -c '
	cd "$0"
	said=$bin/$1/$2 show="tail -n 1" status=0
	"$bin/$1/fuzz" -test.run "^\$" -test.fuzz "^$2\$" -test.fuzztime "$time" -test.fuzzminimizetime 100x \
		-test.parallel 1 -test.fuzzcachedir "$cache/$1" >"$said" 2>&1 || show=cat status=1
	printf "%s %s\n%s\n" "$0" "$2" "$(grep -v ^PASS "$said" | $show)"
	exit $status
' <"$bin/targets"
