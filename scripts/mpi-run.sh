#!/bin/sh
# Runs two examples over each MPI library that is usable here, with a given number of ranks: bin
# folder, ranks. Where there is none, it does nothing.
set -eu

bin=${1:?the folder of the programs is missing}
ranks=${2:?the number of ranks is missing}

for library in openmpi mpich; do
	"$bin/aqrun" --mpi "$library" -n "$ranks" --dry-run "$bin/ring" >/dev/null 2>&1 || continue
	for program in "ring 1000" mpimix; do
		echo "$bin/aqrun --mpi $library -n $ranks $bin/$program"
		"$bin/aqrun" --mpi "$library" -n "$ranks" "$bin"/$program
	done
done
