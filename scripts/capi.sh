#!/bin/sh
# Builds the C library into the folder given, as it is installed: lib with the archives and shared objects, and include.
# Without a C compiler it does nothing; if nothing has changed since, neither.
#
# What Go makes is an archive whose objects call each other by many names, and whose runtime starts when the program is
# loaded. It becomes one object that has the names of GASNet alone, and whose runtime gasnet_init starts
# (capi/start.c): the section that lists the entry is no list of constructors any more.
set -eu

out=${1:?the folder for the library is missing}
cd "$(dirname "$0")/.."
go=${GO:-go}
cc=${CC:-cc}
if ! command -v "$cc" >/dev/null 2>&1 || [ "$("$go" env CGO_ENABLED)" != 1 ]; then
	echo "No C compiler: the C library is not built."
	exit 0
fi

stamp=$out/.built
sources="capi core extended conduits internal spawner aqueduct.go dump.go model.go options.go stepped.go go.mod scripts/capi.sh"
if [ -e "$stamp" ] && [ -z "$(find $sources -newer "$stamp" ! -name '*_test.go' ! -path '*/testdata/*' -print -quit)" ]; then
	exit 0
fi

mkdir -p "$out/lib" "$out/include/gasneti"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The network's names are looked up by Go, so that static programs need no shared library for it.
"$go" build -buildmode=c-archive -tags netgo,osusergo -o "$work/go.a" ./capi
mkdir "$work/objects"
(cd "$work/objects" && ar x ../go.a)
ld -r -d -o "$work/all.o" "$work"/objects/*.o
objcopy --wildcard --keep-global-symbol='gasnet*' --keep-global-symbol='gex_*' --keep-global-symbol='aqueduct_*' --rename-section .init_array=aqueduct_runtime --strip-debug "$work/all.o" "$work/aqueduct.o"
if ! nm "$work/aqueduct.o" | grep -q ' [Uw] __start_aqueduct_runtime' || ! objdump -h "$work/aqueduct.o" | grep -q ' aqueduct_runtime '; then
	echo "$0: the Go runtime's entry is not where this Go has it: capi/start.c does not find it." >&2
	exit 1
fi

echo '{ global: gasnet*; gex_*; aqueduct_*; local: *; };' >"$work/version"
shared() { # library, what it is made of
	lib=$1
	shift
	"$cc" -shared -Wl,-soname,"$lib.so.1" -Wl,--version-script="$work/version" -Wl,-z,nodelete -Wl,-z,defs -o "$work/$lib.so.1" "$@" -lpthread
	mv "$work/$lib.so.1" "$out/lib/"
	ln -sf "$lib.so.1" "$out/lib/$lib.so"
}
static() {
	ar rcs "$work/$1.a" "$2"
	mv "$work/$1.a" "$out/lib/"
}

shared libaqueduct "$work/aqueduct.o"
static libaqueduct "$work/aqueduct.o"

# The tools alone, for programs that have no job: they need nothing of Go.
for source in capi/tools_*.c; do
	"$cc" -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -c -o "$work/$(basename "$source" .c).o" "$source"
done
ld -r -o "$work/tools.o" "$work"/tools_*.o
shared libaqueduct-tools "$work/tools.o"
static libaqueduct-tools "$work/tools.o"

for mode in seq par parsync; do
	"$cc" -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -Icapi/include -DGASNETI_SHELL="$(echo $mode | tr a-z A-Z)" -c -o "$work/$mode.o" capi/shell/shell.c
	shared "libaqueduct-$mode" "$work/$mode.o" -Wl,-rpath,'$ORIGIN' -L"$out/lib" -laqueduct
	static "libaqueduct-$mode" "$work/$mode.o"
done
cp capi/include/*.h "$out/include/"
cp capi/include/gasneti/*.h "$out/include/gasneti/"
touch "$stamp"
