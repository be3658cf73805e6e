// Package coretest is the conformance suite of conduits: what a program written to the Core
// API may rely on, case by case, whatever carries its messages.
//
// A [Case] is data: a name, the rule it stands for, the job sizes it runs at, and the body
// that every rank executes. The same cases run in every kind of job that a conduit
// supports, each kind being a [Launcher]: [Goroutines] and [Model] are here, and jobs of
// real processes are launched by the conduit's tests, since this package knows no spawner.
// A conduit's conformance test is one call, with a [Kind] for each configuration:
//
//	func TestConformance(t *testing.T) {
//		coretest.Suite(t, coretest.Cases(),
//			coretest.Kind{Name: "live/many", Launcher: coretest.Goroutines, Config: core.Config{Conduit: "loopback"}},
//			coretest.Kind{Name: "live/single", Launcher: coretest.Goroutines, Config: core.Config{Conduit: "loopback", Threads: core.Single}},
//			coretest.Kind{Name: "model", Launcher: coretest.Model, Config: core.Config{Conduit: "loopback"}})
//	}
//
// A case that needs what a kind does not offer (a rank to kill, virtual time) or the conduit does
// not have (one-sided operations) is no test of that kind. What is offered but broken is a failure. A
// job that does not end is ended by a watchdog, which shows the stacks of all goroutines.
//
// # Which combinations run
//
// Cases, kinds and numbers of ranks are independent, so not every combination of them is run. By itself a suite runs each
// case in one combination, such that every group of cases is run in each kind. If the variable AQ_TEST_PART says so it runs more. At least those
// are run then that cover all pairs: every case is run with each value of each factor that kinds differ in;
// every group of cases is run in each kind, and with each of its numbers of ranks; and every two
// values of factors that a kind combines are met. Where the layer of the cases itself is at test, every case is run with each of its
// numbers of ranks: see [Kind.AllSizes]; where that is tested elsewhere, some cases of each group are: see [Kind.Share]. The elements of a kind's name are its values, unless
// [Kind.Factors] says otherwise. What is chosen depends on the cases and kinds alone. To the pairs the variable
// adds a part of the other combinations, or all: see [Part].
//
// Of a group of cases in virtual time one combination in each kind runs twice, and both runs must be the same to the
// last event of their traces. That the others run twice too belongs to what the variable adds.
//
// # Jobs of processes
//
// The test binary executes itself once for every rank. Its TestMain begins with [RankMain],
// which runs the case and exits if the process is a rank:
//
//	func TestMain(m *testing.M) {
//		coretest.RankMain(spawner.Connect)
//		os.Exit(m.Run())
//	}
//
// The launcher starts the binary with the variables of [Launch.Env] added to the
// environment and an [Output] as standard output and error, and carries out the kills that
// the output receives.
//
// Starting processes takes longer than most cases. A launcher that is a [Sharer] starts them with the
// variables of [Shared.Env] instead: they run one case after another, each as a job from its
// beginning to its end. A case that fails ends the processes, as it would end its own, and is named;
// those that follow get new ones. A case that is meant to end its processes has its own: see
// [Case.Alone].
//
// # Extent
//
// AQ_TEST_PART=K/M has suites run the pairs and the K-th of M parts of the other combinations; 1/1 is all.
// AQ_TEST_SCALE, a whole number, multiplies how often the cases repeat what they do; 1 is
// for every day.
package coretest
