#!/bin/sh
# The tests of which some need root: to change user ids, and to make network namespaces.
# Without root it says so and fails.
set -eu

if [ "$(id -u)" != 0 ]; then
	echo "make test-system needs root: sudo make test-system" >&2
	exit 1
fi
"${GO:-go}" run ./scripts/testsum ./spawner/... ./conduits/udp/... ./cmd/aqimpair
