// Package floor measures what the machine itself allows: the smallest C programs that do
// the communication part of a benchmark, between processes pinned to given CPUs, over
// shared memory or the loopback interface. A benchmark reports its figures as multiples of
// them.
//
// The programs are compiled with the machine's C compiler on first use and kept in the
// user's cache directory. A floor is a running program that sleeps until asked for a
// sample, so that samples of the floor and of a workload can alternate on the same CPUs:
//
//	f, err := floor.Start(ctx, floor.PingPong, []int{0, 1})
//	before, err := f.Sample(10000)
//	… the workload, pinned to CPUs 0 and 1 …
//	after, err := f.Sample(10000)
//	err = f.Close()
//
// Each kind measures several variants; the fastest is the floor. Where there is no C
// compiler Start fails with ErrNoCompiler, and a report leaves the ratio out.
package floor
