#!/bin/sh
# Checks what building and testing need; installs what is missing where it can, after
# saying so, and otherwise prints the command that does.
set -eu

need_go=$(sed -n 's/^go //p' go.mod)
if ! command -v "${GO:-go}" >/dev/null 2>&1; then
	echo "Go $need_go or newer is needed and was not found; install it from https://go.dev/dl/" >&2
	exit 1
fi

# A C compiler makes the floors that benchmarks are compared with, and the race detector.
if ! command -v "${CC:-cc}" >/dev/null 2>&1 && ! command -v gcc >/dev/null 2>&1; then
	install="apt-get install -y --no-install-recommends gcc libc6-dev"
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		echo "No C compiler: installing one ($install)"
		apt-get update -qq && $install
	else
		echo "No C compiler: benchmarks will have no floor to be compared with, and 'make race'"
		echo "cannot run. To install one: sudo $install"
	fi
fi
