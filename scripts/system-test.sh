#!/bin/sh
# The tests of which some need root: to change user ids, and to make network namespaces.
# Without root, or where root may not do these, it says so and fails.
set -eu

if [ "$(id -u)" != 0 ]; then
	echo "make test-system needs root: sudo make test-system" >&2
	exit 1
fi
export AQ_REQUIRE="${AQ_REQUIRE:+$AQ_REQUIRE,}needs root"
"${GO:-go}" run ./scripts/testsum -run=OverHosts ./conduits/mpi/libmpi ./extended/exttest/libmpi
"${GO:-go}" run ./scripts/testsum ./spawner/... ./cmd/aqrun ./conduits/udp/... ./extended/exttest/links ./cmd/aqimpair
