#!/bin/sh
# Checks what building and testing need; installs what is missing where it can, after
# saying so, and otherwise prints the command that does. Only Linux and Go are a must.
set -u

go=${GO:-go}
need=$(sed -n 's/^go //p' go.mod)

if [ "$(uname -s)" != Linux ]; then
	echo "Aqueduct runs on Linux only; this is $(uname -s)." >&2
	exit 1
fi
if ! command -v "$go" >/dev/null 2>&1; then
	echo "Go $need or newer is needed and '$go' was not found; install it from https://go.dev/dl/" >&2
	exit 1
fi
# In this folder an older Go may fetch the one it needs by itself.
have=$("$go" env GOVERSION 2>/dev/null)
have=${have#go}
if [ "$(printf '%s\n' "$need" "${have:-0}" | sort -V | head -n 1)" != "$need" ]; then
	echo "Go $need or newer is needed; this is $(cd / && "$go" version), which could not fetch it." >&2
	echo "Install it from https://go.dev/dl/, or name another by GO=/path/to/go." >&2
	exit 1
fi

# A C compiler makes the floors that benchmarks are compared with, and the race detector.
compiler() { command -v "${CC:-cc}" || command -v gcc; } >/dev/null 2>&1

compiler && exit 0
install="apt-get install -y --no-install-recommends gcc libc6-dev"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "No C compiler: installing one ($install)"
	apt-get update -qq
	$install
	compiler && exit 0
	echo "That has failed; going on without a C compiler."
	install="apt-get update && $install"
else
	install="sudo $install"
fi
echo "Without a C compiler benchmarks have no floor to be compared with, and 'make race' cannot run."
echo "To install one: $install"
