#!/bin/sh
# Runs go test with the arguments given and lists at the end what was skipped and why. A
# skip whose reason begins with a word of AQ_REQUIRE (separated by commas) is a failure.
set -u

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
"${GO:-go}" test -count=1 -timeout 15m -json "$@" >"$log"
status=$?

"${GO:-go}" run ./scripts/testsum <"$log" || status=1
exit $status
