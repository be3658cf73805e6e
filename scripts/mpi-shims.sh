#!/bin/sh
# Compiles what calls MPI once for each MPI library that is installed, into the folder given: the shim
# of the conduit, libaqueduct-mpi-openmpi.so and libaqueduct-mpi-mpich.so, and that of the example
# mpimix, libmpimix-*.so. A library that is not installed is passed over; one whose shims cannot be
# compiled is an error.
set -eu

out=${1:?the folder for the shims is missing}
top=$(cd "$(dirname "$0")/.." && pwd)

# family prints which library an mpicc is of, told by what its mpi.h defines; nothing if it does
# not work.
family() {
	macros=$(printf '#include <mpi.h>\n' | "$1" -E -dM -x c - 2>/dev/null) || return 0
	case $macros in
	*'#define OPEN_MPI '*) echo openmpi ;;
	*'#define MPICH '* | *'#define MPICH_VERSION '*) echo mpich ;;
	esac
}

# shim compiles source file $3, with a header of the same name, to $2 by $1, unless it is up to date.
shim() {
	if [ "$2" -nt "$3.c" ] && [ "$2" -nt "$3.h" ]; then
		return
	fi
	# Made aside and moved, so that a program that runs keeps what it has mapped.
	"$1" -std=gnu11 -O2 -g -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -o "$2.$$" "$3.c"
	mv "$2.$$" "$2"
}

found=
for cc in ${MPICC:-} mpicc.openmpi mpicc.mpich mpicc; do
	name=$(family "$cc")
	case " $found " in *" $name "*) continue ;; esac
	[ -n "$name" ] || continue
	found="$found $name"
	shim "$cc" "$out/libaqueduct-mpi-$name.so" "$top/conduits/mpi/libmpi/shim/aqmpi"
	shim "$cc" "$out/libmpimix-$name.so" "$top/examples/mpimix/shim/mix"
done
[ -n "$found" ] || echo "No MPI library is installed (mpicc): the conduit mpi runs on models only."
