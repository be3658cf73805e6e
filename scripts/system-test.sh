#!/bin/sh
# The tests that need root: they are the same packages with AQ_SYSTEM=1, which adds the
# cases that change user ids. Without root it says so and fails.
set -eu

if [ "$(id -u)" != 0 ]; then
	echo "make test-system needs root: sudo make test-system" >&2
	exit 1
fi
AQ_SYSTEM=1 sh scripts/test.sh ./spawner/...
