#!/bin/sh
# Installs what was built in the folder given first below the prefix given second: programs, the shims of MPI libraries, man pages,
# completion, and the C library if there is one. Files appear below $DESTDIR, if that is set. What is installed is listed in
# share/aqueduct/files, which scripts/uninstall.sh reads.
set -eu

built=${1:?the folder of the programs is missing}
prefix=${2:?the prefix is missing, e.g. make install PREFIX=/usr/local}
case $prefix in
/*) ;;
*) echo "PREFIX=$prefix: a full path is needed" >&2 && exit 1 ;;
esac
scripts=$(cd "$(dirname "$0")" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
new=$stage$prefix
share=$new/share

mkdir -p "$new/bin" "$new/lib/aqueduct" "$share/aqueduct" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
for program in aqrun aqbench aqimpair; do
	cp "$built/$program" "$new/bin/"
	"$built/$program" man "$share/man"
	"$built/$program" completion bash >"$share/bash-completion/completions/$program"
	"$built/$program" completion zsh >"$share/zsh/site-functions/_$program"
	"$built/$program" completion fish >"$share/fish/vendor_completions.d/$program.fish"
done
for shim in "$built"/libaqueduct-mpi-*.so; do # where an aqrun that is installed looks for them
	[ ! -e "$shim" ] || cp "$shim" "$new/lib/aqueduct/"
done
if [ -e "$built/capi/lib/libaqueduct.a" ]; then
	DESTDIR=$stage sh "$scripts/capi-install.sh" "$built/capi" "$prefix" >/dev/null
else
	echo "There is no C library in $built/capi: it is not installed. It takes a C compiler."
fi

list=$share/aqueduct/files
: >"$list"
(cd "$new" && find . ! -type d | sed 's,^\./,,' | sort) >"$stage/files"
mv "$stage/files" "$list"

to=${DESTDIR:-}$prefix
mkdir -p "$to"
cp -RP --remove-destination "$new/." "$to/" # a program that runs keeps its file
echo "Aqueduct is installed in $to."
