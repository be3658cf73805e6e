#!/bin/sh
# Removes what scripts/install.sh has installed below the prefix given, and below $DESTDIR if that is set; folders too, if nothing else is
# left in them.
set -eu

to=${DESTDIR:-}${1:?the prefix is missing, e.g. make uninstall PREFIX=/usr/local}
list=$to/share/aqueduct/files
if [ ! -e "$list" ]; then
	echo "Nothing is installed in $to: there is no $list." >&2
	exit 1
fi
cd "$to"
files=$(cat "$list")
echo "$files" | while IFS= read -r file; do rm -f "./$file"; done
echo "$files" | while IFS= read -r file; do
	folder=$(dirname "$file")
	while [ "$folder" != . ]; do
		rmdir "./$folder" 2>/dev/null || break
		folder=$(dirname "$folder")
	done
done
echo "Aqueduct is removed from $to."
