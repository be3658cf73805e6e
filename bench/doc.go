// Package bench turns measurements into reports that can be trusted on a noisy machine.
//
// A workload is never measured alone. Interleave alternates it with its references, such
// as the C floors of package floor or another library, on the same pinned CPUs, so that
// every sample stands between two samples of each reference. A sample whose brackets
// differ by 30 % or more is dropped: the machine changed in between. What is quoted is
// the ratio, "x-floor" or "x-<peer>", the median of what is left, and the placement group
// in which it was taken (see Placement).
//
// A measured quantity over sizes or rank counts is a Series of Results. An Encoder writes
// series, each under a Header that states the conditions, in tables for people, in those of the OSU
// benchmarks, in that of go test -bench for benchstat, as JSON lines or as CSV.
package bench
