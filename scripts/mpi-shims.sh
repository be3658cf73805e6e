#!/bin/sh
# Compiles conduits/mpi/libmpi/shim once for each MPI library that is installed, into the folder
# given: libaqueduct-mpi-openmpi.so, libaqueduct-mpi-mpich.so. A library that is not installed is
# passed over; one whose shim cannot be compiled is an error.
set -eu

out=${1:?the folder for the shims is missing}
src=$(cd "$(dirname "$0")/../conduits/mpi/libmpi/shim" && pwd)

# family prints which library an mpicc is of, told by what its mpi.h defines; nothing if it does
# not work.
family() {
	macros=$(printf '#include <mpi.h>\n' | "$1" -E -dM -x c - 2>/dev/null) || return 0
	case $macros in
	*'#define OPEN_MPI '*) echo openmpi ;;
	*'#define MPICH '* | *'#define MPICH_VERSION '*) echo mpich ;;
	esac
}

found=
for cc in ${MPICC:-} mpicc.openmpi mpicc.mpich mpicc; do
	name=$(family "$cc")
	case " $found " in *" $name "*) continue ;; esac
	[ -n "$name" ] || continue
	found="$found $name"
	shim=$out/libaqueduct-mpi-$name.so
	if [ "$shim" -nt "$src/aqmpi.c" ] && [ "$shim" -nt "$src/aqmpi.h" ]; then
		continue
	fi
	# Made aside and moved, so that a program that runs keeps what it has mapped.
	"$cc" -std=gnu11 -O2 -g -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden \
		-o "$shim.$$" "$src/aqmpi.c"
	mv "$shim.$$" "$shim"
done
[ -n "$found" ] || echo "No MPI library is installed (mpicc): the conduit mpi runs on models only."
