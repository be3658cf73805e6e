// Package paper repeats the experiments of published papers on models of their machines, and
// sets what comes out beside what was published.
//
// An Experiment is a program, or several: an ordinary Aqueduct program that runs as a job in
// virtual time, or procs that use the modelled hardware below the conduit. It returns an
// Outcome: numbers, claims that hold or do not, and figures. What a number is compared with
// stands in the machine's file (package machine): numbers that constants were fitted to, which
// have to be met and show nothing more, and predictions with their tolerances, which are what
// the model can fail. On another machine, such as a user's own, the same experiments run and
// nothing is judged that its file does not predict.
//
// All that an Outcome says is virtual: equal machines, seeds and sizes give equal outcomes, to
// the last byte of every figure. Only Cost is about the host.
package paper
