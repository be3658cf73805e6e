#!/bin/sh
# Installs the C library, which scripts/capi.sh has built in the folder given first, below the prefix given second: headers,
# libraries, what makefiles and pkg-config read, and launchers. Files appear below $DESTDIR, if that is set.
set -eu

built=${1:?the folder of the library is missing}
prefix=${2:?the prefix is missing, e.g. make install PREFIX=/usr/local}
case $prefix in
/*) ;;
*) echo "PREFIX=$prefix: a full path is needed, since makefiles name it" >&2 && exit 1 ;;
esac
if [ ! -e "$built/lib/libaqueduct.a" ]; then
	echo "There is no C library in $built: a C compiler is needed." >&2
	exit 1
fi
cd "$(dirname "$0")/.."
to=${DESTDIR:-}$prefix
version=$(sed -n 's/^#define GASNET_RELEASE_VERSION_[A-Z]* //p' capi/include/gasneti/base.h | paste -sd.)

mkdir -p "$to/bin" "$to/lib/pkgconfig" "$to/include"
cp -R "$built/include/." "$to/include/"
cp -P "$built"/lib/lib* "$to/lib/"
cp "$(dirname "$built")/aqrun" "$to/bin/"
mkdir -p "$to/lib/aqueduct"
for shim in "$(dirname "$built")"/libaqueduct-mpi-*.so; do # where an aqrun that is installed looks for them
	[ ! -e "$shim" ] || cp "$shim" "$to/lib/aqueduct/"
done

# What programs are built with: for a conduit and a thread mode, or for the tools alone. NAME.mak and NAME.pc are
# put into the folder given; pkg-config reads the latter, with a prefix that its users know. The same libraries have a
# name for makefiles that name them themselves.
fragments() { # name, prefix of variables, what it is, folder below include, defines, libraries, name for pkg-config
	name=$1 var=$2 what=$3 folder=$4 defines=$5 libs=$6 package=$7
	dir=$to/include/$folder
	mkdir -p "$dir"
	cat >"$dir/$name.mak" <<-END
		# Aqueduct $version: what $what are built with.
		${var}_PREFIX = $prefix
		${var}_CC = cc
		${var}_CXX = c++
		${var}_LD = \$(${var}_CC)
		${var}_MISC_CPPFLAGS =
		${var}_DEFINES = $defines
		${var}_INCLUDES = -I\$(${var}_PREFIX)/include -I\$(${var}_PREFIX)/include/$folder
		${var}_CPPFLAGS = \$(${var}_MISC_CPPFLAGS) \$(${var}_DEFINES) \$(${var}_INCLUDES)
		${var}_MISC_CXXCPPFLAGS = \$(${var}_MISC_CPPFLAGS)
		${var}_CXXCPPFLAGS = \$(${var}_MISC_CXXCPPFLAGS) \$(${var}_DEFINES) \$(${var}_INCLUDES)
		${var}_OPT_CFLAGS = -O2
		${var}_MISC_CFLAGS =
		${var}_CFLAGS = \$(${var}_OPT_CFLAGS) \$(${var}_MISC_CFLAGS)
		${var}_OPT_CXXFLAGS = -O2
		${var}_MISC_CXXFLAGS =
		${var}_CXXFLAGS = \$(${var}_OPT_CXXFLAGS) \$(${var}_MISC_CXXFLAGS)
		${var}_LDFLAGS =
		${var}_LIBS = -L\$(${var}_PREFIX)/lib $libs
	END
	cat >"$dir/$name.pc" <<-END
		prefix=$prefix

		Name: $package
		Description: GASNet by Aqueduct: what $what are built with
		Version: $version
		Cflags: $defines -I\${prefix}/include -I\${prefix}/include/$folder
		Libs: -L\${prefix}/lib $libs
	END
	cp "$dir/$name.pc" "$to/lib/pkgconfig/$package.pc"
	echo "INPUT($libs)" >"$to/lib/lib$package.a"
}
upper() { echo "$1" | tr '[:lower:]' '[:upper:]'; }

for conduit in aqueduct smp udp mpi sci; do
	for mode in seq par parsync; do
		# The conduit is chosen when a job starts, so these differ by the name that programs see.
		fragments "$conduit-$mode" GASNET "programs of conduit $conduit and thread mode $mode" "$conduit-conduit" \
			"-DGASNET_NDEBUG -DGASNET_$(upper "$mode") -DGASNETI_FOR_$(upper "$conduit")" \
			"-l:libaqueduct-$mode.a -l:libaqueduct.a -lpthread" "gasnet-$conduit-$mode"
	done
	sed "s/@CONDUIT@/$conduit/" capi/launch/gasnetrun.sh >"$to/bin/gasnetrun_$conduit"
	chmod 755 "$to/bin/gasnetrun_$conduit"
done
fragments gasnet_tools-seq GASNETTOOLS "programs of one thread that use the tools alone" . -DGASNET_NDEBUG "-l:libaqueduct-tools.a -lpthread" gasnet_tools-seq
fragments gasnet_tools-par GASNETTOOLS "programs that use the tools alone" . "-DGASNET_NDEBUG -DGASNETT_THREAD_SAFE" "-l:libaqueduct-tools.a -lpthread" gasnet_tools-par
ln -sf gasnetrun_udp "$to/bin/amudprun"
echo "The C library is installed in $to."
